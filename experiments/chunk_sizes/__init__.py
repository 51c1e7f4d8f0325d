"""Chunk sizes of loops: chosen by trees and other learners, as numerical libraries might."""
