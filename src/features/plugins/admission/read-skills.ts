import { skillCaps, type SentSkill } from '#runtime/catalog/types/skill-catalog.ts'
import { collectSkills } from './collect-skills.ts'
import { refused } from './archive-paths.ts'
import { untar } from './untar.ts'
import { unzip } from './unzip.ts'

/**
 * Reads the skills of a .zip or a .tar.gz, or a single SKILL.md. Like `readArchive` it runs in an isolate of its own
 * on the server, and directly in the command.
 *
 * @param only Names of the wanted skills; empty for all.
 * @throws `plugin_upload_invalid`
 */
export function readSkills(bytes: Uint8Array, only: readonly string[]): readonly SentSkill[] {
  const { archive: caps } = skillCaps
  if (bytes.byteLength > caps.maxArchiveBytes)
    throw refused(`The archive is larger than ${caps.maxArchiveBytes} bytes.`)
  return collectSkills(filesOf(bytes), { only })
}

function filesOf(bytes: Uint8Array): ReadonlyMap<string, Uint8Array> {
  const [first, second] = bytes
  if (first === 0x1f && second === 0x8b) return untar(bytes, skillCaps.archive)
  if (first === 0x50 && second === 0x4b) return unzip(bytes, skillCaps.archive)
  return new Map([['SKILL.md', bytes]])
}
