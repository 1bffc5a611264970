import { errorMessage } from '#contracts/errors.ts'
import type { LongTermMemory, MemoryGateway, MemoryOwners } from '#contracts/long-term.ts'
import type { Rotation } from '#contracts/secrets.ts'

/** Seals the key of every object with notes under the current master key, one after the other. One that fails holds up none. */
export async function rotateKeys(gateway: MemoryGateway, owners: MemoryOwners): Promise<Rotation> {
  let [rotated, current] = [0, 0]
  const failed: { readonly name: string; readonly message: string }[] = []
  const one = async (name: string, memory: LongTermMemory): Promise<void> => {
    try {
      const { key } = await memory({ verb: 'reseal' })
      if (key === 'rotated') rotated += 1
      if (key === 'current') current += 1
    } catch (error) {
      failed.push({ name, message: `${name}: ${errorMessage(error)}` })
    }
  }
  await one('memory of the deployment', gateway.ofDeployment())
  for (const principal of await owners.list())
    await one(`memory of ${principal}`, gateway.ofPrincipal(principal))
  return { rotated, current, failed }
}

/** Both together. */
export const joinRotations = (one: Rotation, other: Rotation): Rotation => ({
  rotated: one.rotated + other.rotated,
  current: one.current + other.current,
  failed: [...one.failed, ...other.failed],
})
