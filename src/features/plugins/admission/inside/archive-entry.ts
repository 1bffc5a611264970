import { WorkerEntrypoint } from 'cloudflare:workers'
import { IsolaError } from '#contracts/errors.ts'
import { readArchive } from '../read-archive.ts'
import { readSkills } from '../read-skills.ts'

/** All that is in the isolate: bytes in, JSON out. What is foreign to the parsers stays in here with them. */
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
