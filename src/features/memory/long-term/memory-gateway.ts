import { errorMessage, IsolaError } from '#contracts/errors.ts'
import type { KnowledgeApi, MemoryApi, MemoryOwners } from '../types.ts'
import type { KnowledgeGateway } from '#features/record/types/knowledge.ts'
import type { MemoryGateway } from '#contracts/long-term.ts'
import { lengthPrefixed, principalParts } from '#contracts/objects.ts'
import { fromReply, type Reply } from '#contracts/reply.ts'

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
    readonly ask: (object: Api, request: Request) => Promise<Reply<Answer>>
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
