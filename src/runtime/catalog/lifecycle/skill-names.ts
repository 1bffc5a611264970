import { IsolaError } from '#contracts/errors.ts'
import { isSkillName } from '../types/skill-catalog.ts'
import { lookAlikes } from './look-alikes.ts'
import { isReserved } from './plugin-names.ts'

/** The names that a new name is compared with. */
export interface NamesThere {
  /** The names of the skills that ship. */
  readonly bundled: readonly string[]
  /** The names of the installed skills, if this one is new. */
  readonly installed: readonly string[]
  /** An operator confirmed a name that looks like another's. */
  readonly isMeant: boolean
}

/**
 * Refuses a name that a model or a person would take for another skill's: an agent follows the skill that it loads by
 * name (docs/security.md T24, typosquats).
 *
 * @throws `plugin_name_collision`
 */
export function checkSkillName(name: string, { bundled, installed, isMeant }: NamesThere): void {
  if (!isSkillName(name))
    throw collision(
      `${JSON.stringify(name)} is no name for a skill here: lowercase letters (a to z), digits and single hyphens between them, 64 at most`,
    )
  if (isReserved(name)) throw collision(`"${name}" is reserved for Isola itself`)
  if (bundled.includes(name))
    throw collision(`"${name}" is that of a skill that ships with this deployment`)
  if (isMeant) return
  const [like] = lookAlikes(name, [...bundled, ...installed], 'skill')
  if (like !== undefined)
    throw collision(
      `${like}; an operator may say that it is meant (--look-alike, allowLookAlike: true)`,
    )
}

const collision = (why: string): IsolaError =>
  new IsolaError('plugin_name_collision', `name: ${why}. Choose another one in SKILL.md.`, {
    param: 'name',
  })
