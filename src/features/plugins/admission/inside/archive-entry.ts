import { WorkerEntrypoint } from 'cloudflare:workers'
import { IsolaError } from '#contracts/errors.ts'
import { readArchive } from '../read-archive.ts'
import { readSkills } from '../read-skills.ts'

/**
 * The isolate's only entry: bytes in, JSON out. An archive that exploits the parsers reaches no further than this
 * isolate.
 */
export default class extends WorkerEntrypoint {
  read(archive: Uint8Array): string {
    return answer(() => ({ bundle: readArchive(archive) }))
  }

  readSkills(archive: Uint8Array, only: readonly string[]): string {
    return answer(() => ({ skills: readSkills(archive, only) }))
  }
}

function answer(read: () => unknown): string {
  try {
    return JSON.stringify(read())
  } catch (error) {
    if (!(error instanceof IsolaError)) throw error
    const { code, message, param } = error
    return JSON.stringify({ error: { code, message, param } })
  }
}
