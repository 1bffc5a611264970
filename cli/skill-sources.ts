// The skills that `isola skill add` sends: a folder or a zip is read here, with the server's own code.
import { createHash } from 'node:crypto'
import { existsSync, lstatSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join, relative, resolve, sep } from 'node:path'
import { checkSkillName } from '../src/runtime/catalog/lifecycle/names.ts'
import { errorMessage } from '../src/contracts/errors.ts'
import {
  skillCaps,
  toSignedSkillText,
  type SentSkill,
} from '../src/runtime/catalog/types/skill-catalog.ts'
import { createTokenEstimator } from '../src/platform/models/estimate.ts'
import { checkDistinct, checkPath } from '../src/features/plugins/admission/archive-paths.ts'
import { collectSkills } from '../src/features/plugins/admission/collect-skills.ts'
import { readSkills } from '../src/features/plugins/admission/read-skills.ts'
import { readBundle } from '../src/features/skills/admission/read-bundle.ts'
import { signText } from './trust.ts'

/** Skills that were read here, with their source. */
interface LocalSkills {
  readonly skills: readonly SentSkill[]
  readonly source: string
}

const leftOut = new Set(['node_modules', '.git', '.DS_Store'])
/** Of one collection with all that is beside its skills. */
const maxFiles = 20_000

/** Reads the skills of a folder, a .zip or a .tar.gz: the named ones, or all. Throws for any other kind of file. */
export function readLocalSkills(given: string, only: readonly string[]): LocalSkills {
  if (!existsSync(given)) throw new Error(`${given} is none of: a skill's folder, a .zip, a URL.`)
  if (!statSync(given).isDirectory())
    return { skills: readSkills(readFileSync(given), only), source: basename(given) }
  const folder = basename(resolve(given))
  return { skills: collectSkills(readFolder(given), { folder, only }), source: `folder ${folder}` }
}

/** A signature of what will be installed, made with a private key of this machine. */
export function signSkill(sent: SentSkill, key: string) {
  const { version } = readBundle(sent, { sha256, checkPaths, count: { ofText: () => 0 } })
  return signText(toSignedSkillText(version), key)
}

function checkPaths(paths: readonly string[]): void {
  for (const path of paths) checkPath(path)
  checkDistinct(paths)
}

/** Why the skill of this folder would not be added by any server, in its words; nothing if it would. */
export function refusalOf(folder: string): string | undefined {
  try {
    const [sent = {}] = readLocalSkills(folder, []).skills
    const deps = { sha256, checkPaths, count: createTokenEstimator() }
    const { name } = readBundle(sent, deps).version
    checkSkillName(name, { bundled: [], installed: [], isMeant: true })
    return undefined
  } catch (error) {
    return errorMessage(error)
  }
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

export { nameOfSent } from '../src/features/plugins/admission/collect-skills.ts'

/** Files by their path below a folder. Links are not followed: they may lead to files that must not be sent. */
function readFolder(folder: string): ReadonlyMap<string, Uint8Array> {
  const files = new Map<string, Uint8Array>()
  const visit = (at: string): void => {
    for (const entry of readdirSync(at, { withFileTypes: true })) {
      if (leftOut.has(entry.name)) continue
      const path = join(at, entry.name)
      if (entry.isDirectory()) visit(path)
      if (!entry.isFile()) continue
      // A character has four bytes at most: a larger file is refused by its size, without reading it.
      const isHuge = lstatSync(path).size > 4 * skillCaps.maxChars
      files.set(
        relative(folder, path).split(sep).join('/'),
        isHuge ? new Uint8Array([0]) : readFileSync(path),
      )
      if (files.size > maxFiles) throw new Error(`${folder} has more than ${maxFiles} files.`)
    }
  }
  visit(folder)
  return files
}
