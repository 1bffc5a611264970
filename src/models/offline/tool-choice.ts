import type { JsonObject } from '#contracts/json.ts'
import type { ToolDefinition } from '#contracts/model.ts'
import type { BuildSearchIndex, SearchDocument } from '#contracts/search.ts'
import { isJsonObject } from './schema-shape.ts'
import { leadVerb } from './steps.ts'

/** Finds the tools a step means, best first; none if nothing is clearly meant. */
export interface ToolChooser {
  readonly choose: (step: string, hints: readonly string[]) => readonly ToolDefinition[]
}

const maxCandidates = 5
/** A candidate far behind the best one is an accident of wording. */
const minShareOfBest = 0.4

/** Other words for a verb, as tools are named. Tried only together with a word about the matter itself. */
const synonyms: ReadonlyMap<string, string> = new Map(Object.entries({
  change: 'set update', assign: 'set', put: 'set store write', make: 'create set', store: 'set save write put',
  save: 'set store write', keep: 'set store save', record: 'note store', write: 'save set', append: 'add note',
  read: 'get load', show: 'get read list', tell: 'get read', give: 'get read', retrieve: 'get read recall', load: 'get read',
  look: 'get find search', lookup: 'get find search', fetch: 'get http download', download: 'get fetch', open: 'get read',
  recall: 'get read search', find: 'search list recall', search: 'find query recall', query: 'search find',
  remove: 'delete clear', erase: 'delete clear', forget: 'delete clear', check: 'review get verify', inspect: 'review read',
  send: 'post request', what: 'get read', which: 'list get', who: 'get read',
})) // prettier-ignore
/** Verbs whose meaning is in them alone: nothing else need match. */
const tellingVerbs: ReadonlyMap<string, string> = new Map(
  Object.entries({
    remember: 'note memory remember save store',
    recall: 'recall',
    fetch: 'fetch get http',
  }),
)

const nothing = { name: '', owner: '', description: '', parameters: '' }

/** Searches tools by what they are called and say, with the index that the agents' own search uses. */
export function createToolChooser(
  tools: readonly ToolDefinition[],
  buildIndex: BuildSearchIndex,
): ToolChooser {
  const byName = new Map(tools.map((tool) => [tool.name, tool]))
  const documents = tools.map(toDocument)
  const ownerIds = new Set(documents.map(({ owner }) => owner).filter((owner) => owner !== ''))
  const everything = buildIndex(documents)
  const names = buildIndex(documents.map(({ id, name }) => ({ ...nothing, id, name })))
  const owners = buildIndex(documents.map(({ id, owner }) => ({ ...nothing, id, owner })))

  function choose(asked: string, hints: readonly string[]): readonly ToolDefinition[] {
    const mentioned = tools.filter(({ name }) => mentions(asked, name))
    if (mentioned.length > 0) return mentioned.slice(0, 1)
    // Called by its full name and not among these: another one is not what was meant.
    if (fullName.test(asked)) return []
    const step = leadingWithTheAction(asked, ownerIds)
    const lead = (leadVerb(step) ?? /^\p{L}+/u.exec(step)?.[0] ?? '').toLowerCase()
    const telling = tellingVerbs.get(lead) ?? ''
    const others = [telling, synonyms.get(lead) ?? '', ...hints].join(' ')
    const hits = everything.search([`${step} ${others}`], maxCandidates * 3)
    // What the step is about, apart from the verb it begins with.
    const about = wordsById(everything.search([step.slice(lead.length)], tools.length))
    const inName = wordsById(names.search([`${step} ${telling}`], tools.length))
    const inOwner = wordsById(owners.search([step], tools.length))
    const inHints = wordsById(everything.search(hints, tools.length))
    const byVerb = new Set(names.search([`${lead} ${telling}`], tools.length).map(({ id }) => id))
    const bySynonym = new Set(names.search([others], tools.length).map(({ id }) => id))

    function isMeant(id: string): boolean {
      const matter = (about.get(id)?.length ?? 0) + (inHints.get(id)?.length ?? 0)
      const named = (inName.get(id)?.length ?? 0) + (inOwner.get(id)?.length ?? 0)
      if (lead !== '' && byVerb.has(id)) return true
      if (bySynonym.has(id) && matter >= 1) return true
      // What destroys something is never guessed at: the step itself must say so.
      if (destroys.test(id)) return false
      return matter >= 3 || (matter >= 2 && named >= 1) || isWholeOwner(id, inOwner.get(id) ?? [])
    }

    const best = hits[0]?.score ?? 0
    return hits
      .filter(({ id, score }) => score >= best * minShareOfBest && isMeant(id))
      .slice(0, maxCandidates)
      .flatMap(({ id }) => byName.get(id) ?? [])
  }

  return { choose }
}

const fullName = /(?:^|[^\w-])[a-z][a-z0-9-]{0,23}__[A-Za-z0-9_-]/

const destroys = /(?:^|_)(?:delete|remove|clear|erase|drop|destroy|purge|reset|cancel|stop)/i

/** "Use kv to store …" asks for storing: the tool's name goes to the end, where it still counts. */
function leadingWithTheAction(step: string, ownerIds: ReadonlySet<string>): string {
  const [first = '', ...rest] = step.split(' ')
  if (ownerIds.has(first.toLowerCase()) && leadVerb(rest.join(' ')) !== undefined)
    return `${rest.join(' ')} ${first}`
  const talk =
    /^(?:use|using|with|call|have|let) (?:the )?(.{1,60}?)(?: tool| plugin| agent)? (?:to|and) (\S.*)$/i.exec(
      step,
    )
  return talk ? `${talk[2]} ${talk[1]}` : step
}

/** Every word of the owner's id is in the step: it was called by its name. */
function isWholeOwner(id: string, words: readonly string[]): boolean {
  const parts = ownerOf(id).split(/[-_]/)
  return (
    parts.length > 1 &&
    parts.every((part) => words.some((word) => part.startsWith(word.slice(0, 5))))
  )
}

function mentions(step: string, name: string): boolean {
  const at = step.indexOf(name)
  return at >= 0 && !/[\w-]/.test(step[at + name.length] ?? '') && !/[\w-]/.test(step[at - 1] ?? '')
}

export const ownerOf = (name: string): string =>
  name.includes('__') ? name.slice(0, name.indexOf('__')) : ''

function toDocument({ name, description, inputSchema }: ToolDefinition): SearchDocument {
  const owner = ownerOf(name)
  const tail = owner === '' ? name : name.slice(owner.length + 2)
  return {
    id: name,
    // Every agent's tool is called `run`; what it is called by is its owner's name.
    name: tail === 'run' && owner !== '' ? owner : tail,
    owner,
    description: withoutExclusions(description),
    parameters: parametersOf(inputSchema),
  }
}

/** "DO NOT USE for …" names what the tool is not for: those words must not find it. */
function withoutExclusions(description: string): string {
  return description
    .split(/(?<=[.!?])\s|\n/)
    .filter((sentence) => !/^\s*(?:do not|don't|never|not)\b/i.test(sentence))
    .join(' ')
}

function parametersOf({ properties }: JsonObject): string {
  if (!isJsonObject(properties)) return ''
  return Object.entries(properties)
    .map(
      ([name, about]) =>
        `${name} ${isJsonObject(about) && typeof about.description === 'string' ? about.description : ''}`,
    )
    .join(' ')
    .slice(0, 4_000)
}

const wordsById = (
  hits: readonly { readonly id: string; readonly matched: readonly string[] }[],
): ReadonlyMap<string, readonly string[]> => new Map(hits.map(({ id, matched }) => [id, matched]))
