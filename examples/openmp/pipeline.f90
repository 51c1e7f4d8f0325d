! Stages of a pipeline over pieces of data: ./pipeline PIECES STAGES
program pipeline
  implicit none
  integer :: pieces, stages, p, s
  character(len=16) :: text
  double precision, allocatable :: x(:, :)
  double precision :: state(16)
  pieces = 6
  stages = 4
  if (command_argument_count() > 0) then
    call get_command_argument(1, text)
    read (text, *) pieces
  end if
  if (command_argument_count() > 1) then
    call get_command_argument(2, text)
    read (text, *) stages
  end if
  allocate (x(1000, pieces))
  x = 1
  state = 0
  !$omp parallel
  !$omp single
  do p = 1, pieces
    do s = 1, stages
      !$omp task depend(inout: x(1, p), state(s)) firstprivate(p, s)
      call stage(x(:, p), state(s), s)
      !$omp end task
    end do
  end do
  !$omp end single
  !$omp end parallel
  print '(es24.16)', sum(x)
contains
  subroutine stage(values, held, number)
    double precision, intent(inout) :: values(:), held
    integer, intent(in) :: number
    values = values * 0.5d0 + number + held / 1000
    held = held + sum(values) / size(values)
  end subroutine
end program
