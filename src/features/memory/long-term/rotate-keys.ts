import { errorMessage } from '#contracts/errors.ts'
import type { KnowledgeGateway } from '#features/record/types/knowledge.ts'
import type { MemoryGateway } from '#contracts/long-term.ts'
import type { MemoryOwners } from '../types.ts'
import type { Rotation } from '#features/access/types/secrets.ts'

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
