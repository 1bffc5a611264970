import { joinLabels, labelFrom, type Label } from '#contracts/label.ts'
import type { FoundPassage, KnowledgeGateway } from '#features/record/types/knowledge.ts'
import { placeOf } from '#features/plugins/types/memory.ts'
import { type MemoryScope } from '#contracts/long-term.ts'

/** Whose documents are searched, and how many passages are wanted. */
interface PassagesWanted {
  readonly principal: string
  readonly agent: string
  readonly scopes: readonly MemoryScope[]
  readonly query: string
  readonly limit: number
}

/**
 * The best passages of all scopes that an agent reaches, from its principal's object and the deployment's.
 */
export async function searchPassages(
  gateway: KnowledgeGateway,
  { principal, agent, scopes, query, limit }: PassagesWanted,
): Promise<readonly FoundPassage[]> {
  const asked = { verb: 'search', query, limit } as const
  const places = scopes
    .filter((scope) => scope !== 'deployment')
    .map((scope) => placeOf(scope, agent))
  const answers = await Promise.all([
    ...(places.length > 0 ? [gateway.ofPrincipal(principal)({ ...asked, places })] : []),
    ...(scopes.includes('deployment') ? [gateway.ofDeployment()(asked)] : []),
  ])
  return answers
    .flatMap(({ passages = [] }) => passages)
    .toSorted((one, other) => other.score - one.score)
    .slice(0, limit)
}

/** The label of these passages together. */
export const labelOfPassages = (passages: readonly FoundPassage[]): Label =>
  joinLabels([labelFrom('knowledge', { integrity: 'data' }), ...passages.map(({ label }) => label)])
