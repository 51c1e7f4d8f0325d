/* Writes an OTF2 archive of what the standard input says, one word after another:

   location ID NAME          a thread; processes are called by what is before its '/'
   region ID NAME ROLE       a region, with the number of its role
   E LOCATION TIME REGION GUID PARENT   enter; a GUID of 0: no attributes
   L LOCATION TIME REGION    leave
   C/S/X LOCATION TIME TEAM THREAD GENERATION   creation, switch, completion of a task
   F LOCATION TIME           a fork, which says nothing of tasks

   Usage: otf2_writer FOLDER < WORDS */
#include <otf2/otf2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64 };

static OTF2_FlushType pre_flush(void *data, OTF2_FileType type, OTF2_LocationRef where, void *caller,
                                bool final)
{
    (void)data, (void)type, (void)where, (void)caller, (void)final;
    return OTF2_FLUSH;
}

static OTF2_TimeStamp post_flush(void *data, OTF2_FileType type, OTF2_LocationRef where)
{
    (void)data, (void)type, (void)where;
    return 0;
}

static OTF2_FlushCallbacks callbacks = { pre_flush, post_flush };
static OTF2_GlobalDefWriter *definitions;
static uint32_t strings;

static uint32_t text(const char *value)
{
    OTF2_GlobalDefWriter_WriteString(definitions, strings, value);
    return strings++;
}

int main(int count, char **values)
{
    static uint64_t locations[MOST];
    static uint64_t events[MOST];
    static char names[MOST][100];
    static char regions[MOST][100];
    static unsigned roles[MOST];
    int location_count = 0, region_count = 0;
    unsigned long long last = 0;
    char word[100];
    if (count != 2) return 2;
    OTF2_Archive *archive = OTF2_Archive_Open(
        values[1], "traces", OTF2_FILEMODE_WRITE, 1024 * 1024, 4 * 1024 * 1024,
        OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    OTF2_Archive_SetFlushCallbacks(archive, &callbacks, NULL);
    OTF2_Archive_SetSerialCollectiveCallbacks(archive);
    OTF2_Archive_OpenEvtFiles(archive);
    while (scanf("%99s", word) == 1) {
        unsigned long long where, time, a = 0, b = 0, c = 0;
        if (!strcmp(word, "location")) {
            if (scanf("%llu %99s", &where, names[location_count]) != 2) return 3;
            locations[location_count++] = where;
            continue;
        }
        if (!strcmp(word, "region")) {
            if (scanf("%*u %99s %u", regions[region_count], &roles[region_count]) != 2) return 3;
            ++region_count;
            continue;
        }
        if (scanf("%llu %llu", &where, &time) != 2) return 3;
        OTF2_EvtWriter *writer = OTF2_Archive_GetEvtWriter(archive, where);
        if (time > last) last = time;
        for (int i = 0; i < location_count; ++i) events[i] += locations[i] == where;
        switch (word[0]) {
        case 'E': {
            if (scanf("%llu %llu %llu", &a, &b, &c) != 3) return 3;
            OTF2_AttributeList *list = OTF2_AttributeList_New();
            if (b) {
                OTF2_AttributeList_AddUint64(list, 0, b);
                OTF2_AttributeList_AddUint64(list, 1, c);
            }
            OTF2_EvtWriter_Enter(writer, list, time, (OTF2_RegionRef)a);
            OTF2_AttributeList_Delete(list);
            break;
        }
        case 'L':
            if (scanf("%llu", &a) != 1) return 3;
            OTF2_EvtWriter_Leave(writer, NULL, time, (OTF2_RegionRef)a);
            break;
        case 'F':
            OTF2_EvtWriter_ThreadFork(writer, NULL, time, OTF2_PARADIGM_OPENMP, 2);
            break;
        default:
            if (scanf("%llu %llu %llu", &a, &b, &c) != 3) return 3;
            (word[0] == 'C'   ? OTF2_EvtWriter_ThreadTaskCreate
             : word[0] == 'S' ? OTF2_EvtWriter_ThreadTaskSwitch
                              : OTF2_EvtWriter_ThreadTaskComplete)(
                writer, NULL, time, (OTF2_CommRef)a, (uint32_t)b, (uint32_t)c);
        }
    }
    OTF2_Archive_CloseEvtFiles(archive);
    OTF2_Archive_OpenDefFiles(archive);
    for (int i = 0; i < location_count; ++i)
        OTF2_Archive_CloseDefWriter(archive, OTF2_Archive_GetDefWriter(archive, locations[i]));
    OTF2_Archive_CloseDefFiles(archive);
    definitions = OTF2_Archive_GetGlobalDefWriter(archive);
    OTF2_GlobalDefWriter_WriteClockProperties(definitions, 10000000, 1000, last, OTF2_UNDEFINED_TIMESTAMP);
    uint32_t nothing = text("");
    OTF2_GlobalDefWriter_WriteSystemTreeNode(definitions, 0, text("host"), text("node"),
                                             OTF2_UNDEFINED_SYSTEM_TREE_NODE);
    OTF2_GlobalDefWriter_WriteAttribute(definitions, 0, text("GUID"), nothing, OTF2_TYPE_UINT64);
    OTF2_GlobalDefWriter_WriteAttribute(definitions, 1, text("Parent GUID"), nothing, OTF2_TYPE_UINT64);
    for (int i = 0; i < region_count; ++i) {
        uint32_t name = text(regions[i]);
        OTF2_GlobalDefWriter_WriteRegion(definitions, i, name, name, nothing, (OTF2_RegionRole)roles[i],
                                         OTF2_PARADIGM_OPENMP, OTF2_REGION_FLAG_NONE, nothing, 0, 0);
    }
    static uint64_t members[MOST];
    static char processes[MOST][100];
    int process_count = 0;
    for (int i = 0; i < location_count; ++i) {
        char process[100];
        strcpy(process, names[i]);
        char *slash = strchr(process, '/');
        if (slash) *slash = 0;
        int group = 0;
        while (group < process_count && strcmp(processes[group], process)) ++group;
        if (group == process_count) {
            strcpy(processes[process_count++], process);
            OTF2_GlobalDefWriter_WriteLocationGroup(
                definitions, group, text(process), OTF2_LOCATION_GROUP_TYPE_PROCESS, 0,
                OTF2_UNDEFINED_LOCATION_GROUP);
        }
        OTF2_GlobalDefWriter_WriteLocation(
            definitions, locations[i], text(slash ? slash - process + names[i] + 1 : names[i]),
            OTF2_LOCATION_TYPE_CPU_THREAD, events[i], group);
        members[i] = locations[i];
    }
    OTF2_GlobalDefWriter_WriteGroup(definitions, 0, nothing, OTF2_GROUP_TYPE_COMM_LOCATIONS,
                                    OTF2_PARADIGM_OPENMP, OTF2_GROUP_FLAG_NONE, location_count, members);
    for (int i = 0; i < location_count; ++i) members[i] = i;
    OTF2_GlobalDefWriter_WriteGroup(definitions, 1, nothing, OTF2_GROUP_TYPE_COMM_GROUP,
                                    OTF2_PARADIGM_OPENMP, OTF2_GROUP_FLAG_NONE, location_count, members);
    OTF2_GlobalDefWriter_WriteComm(definitions, 0, nothing, 1, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE);
    OTF2_Archive_Close(archive);
    return 0;
}
