import { isSamePermit } from '#contracts/permit.ts'
import { toCanonicalJson } from '#contracts/plugin-bundle.ts'
import type {
  Generation,
  PluginPin,
  PluginSnapshot,
  PluginSource,
} from '#contracts/plugin-catalog.ts'
import type { PluginFacts } from '../isolate/isolate-host.ts'
import type { Outcome } from './changes.ts'

/** Where code comes from, and how it is started once. */
export interface ProveDeps {
  readonly sourceOf: (hash: string) => Promise<PluginSource>
  /** Loads the set as a session would, and has this plugin's code registered; throws `plugin_…` saying why not. */
  readonly tryOut: (snapshot: PluginSnapshot, pin: PluginPin) => Promise<PluginFacts>
}

/** What would be enabled is tried first: a plugin that cannot start does not go live. */
export const createProof =
  ({ sourceOf, tryOut }: ProveDeps) =>
  async (outcome: Outcome, before: Generation): Promise<Outcome> => {
    const fresh = (outcome.generation?.installed ?? []).filter(
      (pin) => !before.installed.some((was) => isSameToStart(was, pin)),
    )
    if (fresh.length === 0 || !outcome.generation) return outcome
    const { installed } = outcome.generation
    const sources = await Promise.all(
      installed.map(
        async ({ hash }) => [hash, await sourceOf(hash).catch(() => undefined)] as const,
      ),
    )
    const found = sources.flatMap(([hash, source]) => (source ? [[hash, source] as const] : []))
    const next = { number: before.number + 1, ...outcome.generation }
    const snapshot: PluginSnapshot = { ...next, sources: Object.fromEntries(found) }
    const facts = new Map<string, PluginFacts>()
    for (const pin of fresh) facts.set(pin.hash, await tryOut(snapshot, pin))
    const told = installed.map((pin) => ({ ...pin, ...facts.get(pin.hash) }))
    return { ...outcome, generation: { ...outcome.generation, installed: told } }
  }

/** Whether a pin would start as it did: another permit or configuration may not. */
const isSameToStart = (was: PluginPin, { id, hash, config, permit }: PluginPin): boolean =>
  was.id === id &&
  was.hash === hash &&
  toCanonicalJson(was.config) === toCanonicalJson(config) &&
  isSamePermit(was.permit, permit)
