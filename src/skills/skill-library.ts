import { headOf } from '#contracts/cut.ts'
import { labelFrom } from '#contracts/label.ts'
import type { BuildSearchIndex, SearchIndex } from '#contracts/search.ts'
import type {
  FoundSkill,
  IsThere,
  LoadedSkill,
  Persona,
  SkillLibrary,
  SkillSource,
  SkillView,
} from '#contracts/skill.ts'
import { cutFrontMatter } from './front-matter.ts'

/** So many at most: each is a description that the model reads, and of more it would have to choose blindly. */
export const maxFoundSkills = 3
/**
 * A skill has to fit as well as one whose name has the query's rarest word would: what only shares a word or two of its
 * long text with a query is none that fits. In parts of what a word counts that no other skill has.
 */
const leastFit = 1.4
const maxDescriptionChars = 400
const maxNameChars = 64
const entryFile = 'SKILL.md'

export interface SkillLibraryDeps {
  /** All there are. May reject. */
  readonly sources: () => Promise<readonly SkillSource[]>
  readonly buildIndex: BuildSearchIndex
  readonly count: { readonly ofText: (text: string) => number }
}

/** The skills that there are, in an index of their own: their texts are long, and no tool is ranked against them. */
export function createSkillLibrary({ sources, buildIndex, count }: SkillLibraryDeps): SkillLibrary {
  let built: { readonly of: readonly SkillSource[]; readonly index: SearchIndex } | undefined
  const indexOf = (skills: readonly SkillSource[]): SearchIndex => {
    if (built?.of !== skills)
      built = { of: skills, index: buildIndex(skills.filter(isFound).map(toDocument)) }
    return built.index
  }
  return {
    async find(queries, isThere) {
      const skills = await sources()
      const index = indexOf(skills)
      const least = leastScore(skills.filter(isFound).length)
      // Of those that lack something others take the place.
      const hits = index.search(queries, skills.length).filter(({ fit = 0 }) => fit >= least)
      const found = hits.flatMap(({ id }) => skills.find(({ name }) => name === id) ?? [])
      // What nobody can be asked about is not there now.
      const isHere = (one: string) => isThere(one).catch(() => false)
      const ready = await Promise.all(
        found.map(async (skill) => ((await missingOf(skill, isHere)).length === 0 ? [skill] : [])),
      )
      return ready.flat().slice(0, maxFoundSkills).map(toFound)
    },
    async list(isThere) {
      const skills = (await sources()).toSorted((a, b) => (a.name < b.name ? -1 : 1))
      return await Promise.all(skills.map((skill) => toView(skill, isThere, count)))
    },
    async show(wanted, isThere) {
      const skill = (await sources()).find(({ name }) => name === wanted)
      if (!skill) return undefined
      const { files, frontMatter } = skill
      const view = await toView(skill, isThere, count)
      return { ...view, files, ...(frontMatter && { frontMatter }) }
    },
    async load(wanted, { file, isThere }) {
      const skill = (await sources()).find(({ name }) => name === wanted)
      if (!skill) return refuse(`There is no skill named "${headOf(wanted, maxNameChars)}" here.`)
      if (skill.kind === 'persona')
        return refuse(
          `${skill.name} is a persona: a voice that is chosen with a session, not loaded.`,
        )
      const missing = await missingOf(skill, isThere)
      if (missing.length > 0)
        return refuse(`${skill.name} needs what is not here: ${missing.join(', ')}.`)
      return toLoaded(skill, file, count)
    },
    async persona(wanted) {
      const personas = (await sources()).filter(({ kind }) => kind === 'persona')
      const found = personas.find(({ name }) => name === wanted)
      const names = personas.map(({ name }) => name).toSorted()
      return { ...(found && { persona: toPersona(found) }), names }
    },
  }
}

const refuse = (message: string): LoadedSkill => ({ ok: false, message })
const isFound = ({ kind }: SkillSource): boolean => kind === 'skill'

/** What it requires and is not there. */
async function missingOf(
  { requires }: Pick<SkillSource, 'requires'>,
  isThere: IsThere,
): Promise<readonly string[]> {
  const there = await Promise.all(requires.map(isThere))
  return requires.filter((_, at) => !there[at])
}

const toFound = ({ name, description }: SkillSource): FoundSkill => ({
  name,
  description: toShort(description),
})

/** Enabling a stranger's says that it may be chosen, not that its author may steer what is done: that is asked about. */
const toPersona = (skill: SkillSource): Persona => ({
  name: skill.name,
  hash: skill.hash,
  text: instructionsOf(skill),
  ...(skill.tier === 'community' && {
    label: labelFrom(`isola__persona ${skill.name}`, { confidentiality: 'public' }),
  }),
})

async function toView(
  skill: SkillSource,
  isThere: IsThere,
  count: SkillLibraryDeps['count'],
): Promise<SkillView> {
  const { files: _, allowedTools: __, tier: ___, frontMatter: ____, ...rest } = skill
  const missing = await missingOf(skill, isThere)
  const found = skill.kind === 'skill' ? count.ofText(JSON.stringify(toFound(skill))) : 0
  const tokens = { found, loaded: count.ofText(instructionsOf(skill)) }
  return { ...rest, state: missing.length > 0 ? 'gated' : 'ready', missing, tokens }
}

/** What BM25 counts a word that one of `count` documents has, times what a fit takes. */
const leastScore = (count: number): number => leastFit * Math.log(1 + (count - 0.5) / 1.5)

const toDocument = (skill: SkillSource) => ({
  id: skill.name,
  name: skill.name,
  owner: '',
  description: skill.description,
  parameters: '',
  body: instructionsOf(skill),
})

/** The text under the front matter of its SKILL.md. */
function instructionsOf({ files }: Pick<SkillSource, 'files'>): string {
  const cut = cutFrontMatter(files[entryFile] ?? '')
  return typeof cut === 'string' ? '' : cut.body
}

function toLoaded(
  skill: SkillSource,
  file: string | undefined,
  count: SkillLibraryDeps['count'],
): LoadedSkill {
  const { name, hash } = skill
  const others = Object.keys(skill.files).filter((path) => path !== entryFile)
  if (file === undefined) {
    const text = instructionsOf(skill)
    return { ok: true, name, hash, text, tokens: count.ofText(text), files: others }
  }
  const text = others.includes(file) ? skill.files[file] : undefined
  if (text !== undefined)
    return { ok: true, name, hash, text, tokens: count.ofText(text), files: [] }
  const has = others.length > 0 ? `It has ${others.join(', ')}.` : 'It has no other files.'
  return refuse(`${name} has no file "${headOf(file, 200)}". ${has}`)
}

const toShort = (text: string): string =>
  text.length > maxDescriptionChars ? `${headOf(text, maxDescriptionChars - 1)}…` : text
