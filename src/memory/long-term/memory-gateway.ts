import { errorMessage, IsolaError } from '#contracts/errors.ts'
import type {
  LongTermMemory,
  MemoryApi,
  MemoryGateway,
  MemoryOwners,
} from '#contracts/long-term.ts'
import { lengthPrefixed, principalParts } from '#contracts/naming.ts'
import { fromReply } from '#contracts/reply.ts'

/** The objects that keep notes: those of principals, and one of the same class that is no principal's. */
export interface MemoryGatewayDeps {
  readonly namespace: { readonly getByName: (name: string) => unknown }
  readonly sha256: (text: string) => string
  readonly memoryOwners: Pick<MemoryOwners, 'add'>
}

const deploymentParts = ['memory', 'deployment']

/** Asks the object behind a name; each question takes a new stub, since one whose object was reset stays broken. */
export function createMemoryGateway({
  namespace,
  sha256,
  memoryOwners,
}: MemoryGatewayDeps): MemoryGateway {
  const noted = new Set<string>()
  /** Before its first note: a key that nobody knows of would not be sealed anew. */
  const noteOwner = async (principal: string) => {
    if (noted.has(principal)) return
    await memoryOwners.add(principal)
    noted.add(principal)
  }
  const at =
    (parts: readonly string[]): LongTermMemory =>
    async (request) => {
      const object = namespace.getByName(sha256(lengthPrefixed(parts))) as MemoryApi
      const reply = await object.memory(request).catch((cause: unknown) => {
        const message = 'What is remembered cannot be looked up. Try again.'
        const about = { transient: true, detail: errorMessage(cause), cause }
        throw new IsolaError('request_unavailable', message, about)
      })
      return fromReply(reply)
    }
  return {
    ofPrincipal: (principal) => {
      const ask = at(principalParts(principal))
      return async (request) => {
        if (request.verb === 'add' && !request.dryRun) await noteOwner(principal)
        return ask(request)
      }
    },
    ofDeployment: () => at(deploymentParts),
  }
}
