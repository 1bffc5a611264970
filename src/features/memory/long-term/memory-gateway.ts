import { errorMessage, IsolaError } from '#contracts/errors.ts'
import type { KnowledgeApi, MemoryApi, MemoryOwners } from '../types.ts'
import type { KnowledgeGateway } from '#features/record/types/knowledge.ts'
import type { MemoryGateway, LongTermMemory, MemoryRequest, NewNote } from '#contracts/long-term.ts'
import { lengthPrefixed, principalParts } from '#contracts/objects.ts'
import { fromReply, type ObjectReply } from '#contracts/reply.ts'
import type { Rotation } from '#features/access/types/secrets.ts'

type Redact = (text: string) => string

/** Memory that keeps no secret which this deployment knows, for every writer (C5). */
export const redacted = (gateway: MemoryGateway, redact: Redact): MemoryGateway => ({
  ofPrincipal: (principal) => toRedacted(gateway.ofPrincipal(principal), redact),
  ofDeployment: () => toRedacted(gateway.ofDeployment(), redact),
})

const toRedacted =
  (memory: LongTermMemory, redact: Redact): LongTermMemory =>
  (request) =>
    memory(withoutSecrets(request, redact))

function withoutSecrets(request: MemoryRequest, redact: Redact): MemoryRequest {
  if (request.verb === 'add')
    return { ...request, notes: request.notes.map((note) => cleared(note, redact)) }
  if (request.verb === 'edit') return { ...request, change: cleared(request.change, redact) }
  return request
}

const cleared = <One extends Partial<Pick<NewNote, (typeof told)[number]>>>(
  note: One,
  redact: Redact,
): One => ({
  ...note,
  ...Object.fromEntries(
    told.flatMap((field) => {
      const value = note[field]
      // A value that is no text is refused later, by the name of its field.
      return typeof value === 'string' ? [[field, redact(value)]] : []
    }),
  ),
})
const told = ['text', 'speaker', 'caption', 'date'] as const

type Reseal = (asked: {
  readonly verb: 'reseal'
}) => Promise<{ readonly key?: 'none' | 'current' | 'rotated' }>

/**
 * Seals the key of every object with notes or documents under the current master key, one after the other. A failure
 * in one object does not hold up the others.
 */
export async function rotateKeys(
  gateways: { readonly memory: MemoryGateway; readonly knowledge: KnowledgeGateway },
  owners: MemoryOwners,
): Promise<Rotation> {
  let [rotated, current] = [0, 0]
  const failed: { readonly name: string; readonly message: string }[] = []
  const one = async (name: string, reseal: Reseal): Promise<void> => {
    try {
      const { key } = await reseal({ verb: 'reseal' })
      if (key === 'rotated') rotated += 1
      if (key === 'current') current += 1
    } catch (error) {
      failed.push({ name, message: `${name}: ${errorMessage(error)}` })
    }
  }
  for (const [what, gateway] of Object.entries(gateways)) {
    await one(`${what} of the deployment`, gateway.ofDeployment())
    for (const principal of await owners.list())
      await one(`${what} of ${principal}`, gateway.ofPrincipal(principal))
  }
  return { rotated, current, failed }
}

/** Both together. */
export const joinRotations = (one: Rotation, other: Rotation): Rotation => ({
  rotated: one.rotated + other.rotated,
  current: one.current + other.current,
  failed: [...one.failed, ...other.failed],
})

/** The objects that keep notes and documents: one for each principal, and one of the same class for the deployment. */
export interface MemoryGatewayDeps {
  readonly namespace: { readonly getByName: (name: string) => unknown }
  readonly sha256: (text: string) => string
  readonly memoryOwners: Pick<MemoryOwners, 'add'>
}

const deploymentParts = ['memory', 'deployment']

/** The ways to what is remembered, and to documents. */
export function createMemoryGateway(deps: MemoryGatewayDeps): {
  readonly memory: MemoryGateway
  readonly knowledge: KnowledgeGateway
} {
  const noted = new Set<string>()
  /** Before the first write: `rotateKeys` would miss the key of an owner who is not in this list. */
  const noteOwner = async (principal: string) => {
    if (noted.has(principal)) return
    await deps.memoryOwners.add(principal)
    noted.add(principal)
  }
  const given = { ...deps, noteOwner }
  return {
    memory: createGateway(given, {
      ask: (object: MemoryApi, request: Parameters<MemoryApi['memory']>[0]) =>
        object.memory(request),
      isFirst: (request) => request.verb === 'add' && !request.dryRun,
      away: 'What is remembered cannot be looked up. Try again.',
    }),
    knowledge: createGateway(given, {
      ask: (object: KnowledgeApi, request: Parameters<KnowledgeApi['knowledge']>[0]) =>
        object.knowledge(request),
      isFirst: (request) => request.verb === 'put',
      away: 'Documents cannot be looked up. Try again.',
    }),
  }
}

/** Asks the object behind a name; each question takes a new stub, since one whose object was reset stays broken. */
function createGateway<Api, Request, Answer>(
  {
    namespace,
    sha256,
    noteOwner,
  }: MemoryGatewayDeps & { readonly noteOwner: (principal: string) => Promise<void> },
  {
    ask,
    isFirst,
    away,
  }: {
    readonly ask: (object: Api, request: Request) => Promise<ObjectReply<Answer>>
    /** Whether it may be what makes a key. */
    readonly isFirst: (request: Request) => boolean
    readonly away: string
  },
) {
  const at = (parts: readonly string[]) => async (request: Request) => {
    const object = namespace.getByName(sha256(lengthPrefixed(parts))) as Api
    const reply = await ask(object, request).catch((cause: unknown) => {
      const about = { transient: true, detail: errorMessage(cause), cause }
      throw new IsolaError('request_unavailable', away, about)
    })
    return fromReply(reply)
  }
  return {
    ofPrincipal: (principal: string) => {
      const asked = at(principalParts(principal))
      return async (request: Request) => {
        if (isFirst(request)) await noteOwner(principal)
        return asked(request)
      }
    },
    ofDeployment: () => at(deploymentParts),
  }
}
