/**
 * The files of `unit` share a process and its modules. What a file before has put in the place of something else goes
 * back, also where a test that was red did not come to it.
 */
import { vi } from 'vitest'

vi.restoreAllMocks()
vi.unstubAllGlobals()
vi.unstubAllEnvs()
vi.useRealTimers()
