import { IsolaError } from '#contracts/errors.ts'
import type { JsonObject } from '#contracts/json.ts'
import type {
  KnowledgeAnswer,
  KnowledgeGateway,
  KnowledgeRequest,
} from '#features/record/types/knowledge.ts'
import { labelFrom, labelSchema, type Label } from '#contracts/label.ts'
import { placeOf } from '#features/plugins/types/memory.ts'
import type {
  MemoryAnswer,
  MemoryGateway,
  MemoryRequest,
  MemoryScope,
  NotePlace,
} from '#contracts/long-term.ts'
import type { AskProvider, ProvidedAnswer } from '#contracts/provider.ts'
import type { providedAnswers } from '#runtime/kernel/types/provider-answers.ts'
import { checkNote } from './long-term/add-notes.ts'

type Kind = keyof typeof providedAnswers
interface Asked {
  readonly verb: string
  readonly place?: NotePlace
  readonly places?: readonly NotePlace[]
  readonly ids?: readonly string[]
  readonly session?: string
}

/** Whose the deployment's notes and documents are, for a plugin: no principal is called so. */
const deployment = ':deployment'

/** The built-in memory and knowledge, or the plugins that provide them: the same requests, and checked answers. */
export const createProvided = (
  { memory, knowledge }: { readonly memory: MemoryGateway; readonly knowledge: KnowledgeGateway },
  ask: AskProvider,
): { readonly memory: MemoryGateway; readonly knowledge: KnowledgeGateway } => ({
  memory: provided<MemoryRequest, MemoryAnswer>('memory', memory, ask),
  knowledge: provided<KnowledgeRequest, KnowledgeAnswer>('knowledge', knowledge, ask),
})

function provided<Request extends Asked, Answer extends { readonly forgotten?: number }>(
  kind: Kind,
  builtIn: Gateway<Request, Answer>,
  ask: AskProvider,
): Gateway<Request, Answer> {
  const at = (principal: string, own: Store<Request, Answer>) => async (given: Request) => {
    // Keys are of what is built in.
    if (given.verb === 'reseal') return own(given)
    const isShared = principal === deployment && !('place' in given)
    const request = isShared ? { ...given, places: ['deployment'] as const } : given
    if ('notes' in request) (request.notes as Parameters<typeof checkNote>[0][]).forEach(checkNote)
    const asked = { ...request, principal } as unknown as JsonObject
    const answered = await ask(kind, { principal, request: asked })
    if (!answered) return own(given)
    const answer = await toAnswer<Answer>(kind, answered, request)
    if (!given.verb.startsWith('forget') || given.ids) return answer
    // Notes that were stored before the plugin was enabled are deleted with the rest.
    const { forgotten = 0 } = await own(given)
    return { ...answer, forgotten: (answer.forgotten ?? 0) + forgotten }
  }
  return {
    ofPrincipal: (principal) => at(principal, builtIn.ofPrincipal(principal)),
    ofDeployment: () => at(deployment, builtIn.ofDeployment()),
  }
}

type Store<Request, Answer> = (request: Request) => Promise<Answer>
interface Gateway<Request, Answer> {
  readonly ofPrincipal: (principal: string) => Store<Request, Answer>
  readonly ofDeployment: () => Store<Request, Answer>
}

/** The fields that each verb has to answer. */
const needed: Readonly<Record<Kind, Readonly<Record<string, string>>>> = {
  memory: { add: 'added', search: 'notes', list: 'notes', get: 'notes', edit: 'notes' },
  knowledge: { put: 'state', search: 'passages', list: 'documents', get: 'documents' },
}

interface Kept {
  readonly scope: MemoryScope
  readonly agent?: string | undefined
}

/**
 * Keeps only the requested fields of a plugin's answer, of the requested places, with labels that the plugin may
 * give.
 */
async function toAnswer<Answer>(
  kind: Kind,
  given: ProvidedAnswer,
  request: Asked,
): Promise<Answer> {
  // Read when a plugin first provides something.
  const { providedAnswers: kinds } = await import('#runtime/kernel/types/provider-answers.ts')
  const read = kinds[kind].safeParse(given.answer)
  const first = read.error?.issues[0]
  if (!read.success) throw odd(given, `${first?.path.join('.')}: ${first?.message}`)
  const answer = read.data as Readonly<Record<string, unknown>>
  const missing =
    needed[kind][request.verb] ?? (request.verb.startsWith('forget') ? 'forgotten' : 'stats')
  if (answer[missing] === undefined) throw odd(given, `it has no ${missing}`)
  const label = <One extends object>(one: One) => ({
    ...one,
    label: labelOf(given, 'label' in one ? one.label : undefined),
  })
  const places = request.places ?? (request.place && [request.place])
  const isAsked = ({ scope, agent }: Kept) =>
    places?.includes(placeOf(scope, agent ?? '')) ?? scope !== 'deployment'
  const keptIn = (all: unknown) => (all as Kept[] | undefined)?.filter(isAsked)
  const found = {
    ...answer,
    notes: keptIn(answer['notes'])?.map(label),
    documents: keptIn(answer['documents'])?.map(label),
    passages: (answer['passages'] as { document: Kept }[] | undefined)
      ?.filter(({ document }) => isAsked(document))
      .map(label),
  }
  const one = found.notes ?? found.documents
  if (one?.length === 0 && 'id' in request)
    throw new IsolaError('request_not_found', 'There is none of this id.', { param: 'id' })
  if (one?.length === 0 && request.verb === 'put') throw odd(given, 'it has no document')
  return Object.fromEntries(
    Object.entries(found).filter(([, value]) => value !== undefined),
  ) as Answer
}

/** Labels that come back are believed of what is trusted; any other may have been handed whatever it answers. */
function labelOf({ isBelieved, from }: ProvidedAnswer, label: unknown): Label {
  const read = isBelieved ? labelSchema.safeParse(label) : undefined
  return read?.success ? read.data : labelFrom(from)
}

const odd = ({ from }: ProvidedAnswer, what: string): IsolaError =>
  new IsolaError(
    'request_unavailable',
    `The plugin "${from}" gave an answer that is none: ${what}.`,
  )
