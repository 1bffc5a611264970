import {
  pinsOf,
  type Generation,
  type PluginSnapshot,
  type PluginPin,
} from '../types/generation.ts'
import type {
  DecidingPart,
  PartOutcome,
  PartsInForce,
  PluginFacts,
  TryOut,
} from '../types/part-kind.ts'
import { isSamePermit } from '../types/permit.ts'
import { toCanonicalJson } from '#contracts/json.ts'

/** How code is started once. */
export interface ProveDeps {
  /** The pins that a plugin is wired with, and their sources: from the next generation, else from the one in force. */
  readonly around: (
    next: Generation,
    ids: readonly string[],
    inForce?: PartsInForce,
  ) => Promise<PluginSnapshot>
  readonly tryOut: TryOut
}

/** Tries the outcome and returns it with the facts found out. Throws `plugin_…` if a plugin in it does not start. */
export type Prove = <T extends PartOutcome>(
  outcome: T,
  now: Pick<DecidingPart, 'generation' | 'inForce'>,
) => Promise<T>

/** Tries what would be enabled: a plugin that cannot start does not go live. */
export const createProof =
  ({ around, tryOut }: ProveDeps): Prove =>
  async (outcome, { generation: before, inForce }) => {
    const was = pinsOf(before, 'plugin')
    const next: Generation = {
      number: before.number + 1,
      pins: { ...before.pins, ...outcome.pins },
    }
    const plugins = pinsOf(next, 'plugin')
    const known = new Map(was.map((pin) => [pin.id, pin]))
    const fresh = plugins.filter((pin) => !isSameToStart(known.get(pin.id), pin))
    if (fresh.length === 0) return outcome
    const facts = new Map<string, PluginFacts>()
    for (const pin of fresh)
      facts.set(pin.hash, await tryOut(await around(next, [pin.id], inForce), pin))
    const plugin = plugins.map((pin) => {
      const found = facts.get(pin.hash)
      return found ? { ...pin, ...found } : pin
    })
    return { ...outcome, pins: { ...outcome.pins, plugin } }
  }

/** Whether a pin would start as before: another permit or configuration may not start. */
const isSameToStart = (was: PluginPin | undefined, { hash, config, permit }: PluginPin): boolean =>
  was !== undefined &&
  (was.config === config || toCanonicalJson(was.config) === toCanonicalJson(config)) &&
  was.hash === hash &&
  (was.permit === permit || isSamePermit(was.permit, permit))
