import { defaultExposure } from '../../src/runtime/catalog/types/generation.ts'
import type { DeploymentEvent } from '../../src/contracts/event.ts'
import { defaultToolPolicy } from '../../src/runtime/kernel/types/tool-policy.ts'
import type {
  ReadSecrets,
  SealedSecret,
  SecretStore,
} from '../../src/features/access/types/secrets.ts'
import { sha256 } from './kernel.ts'

/** 32 bytes as base64, all of them the same: keys of tests. */
export const masterKeyOf = (byte: number): string =>
  btoa(String.fromCharCode(...new Uint8Array(32).fill(byte)))

/** The sources that sealing needs from outside. */
export const sealingSources = {
  sha256,
  randomBytes: (count: number) => crypto.getRandomValues(new Uint8Array(count)),
}

/** The table of secrets as the database keeps it, and what was put on the record. */
export function createMemorySecrets(): SecretStore & {
  readonly events: readonly DeploymentEvent[]
  readonly rows: Map<string, SealedSecret>
} {
  const events: DeploymentEvent[] = []
  const rows = new Map<string, SealedSecret>()
  return {
    events,
    rows,
    list: async () => [...rows.values()],
    find: async (names) => [...rows.values()].filter(({ name }) => names.includes(name)),
    async put(secret, event) {
      rows.set(secret.name, secret)
      events.push(event)
    },
    async remove(name, event) {
      if (rows.delete(name)) events.push(event)
    },
    async reseal(secrets, event) {
      for (const { was, ...next } of secrets) {
        const row = rows.get(next.name)
        if (row?.sealed === was) rows.set(next.name, { ...row, ...next })
      }
      events.push(event)
    },
  }
}

/** Secrets that are set, by name. */
export const readerOf =
  (values: Readonly<Record<string, string>>): ReadSecrets =>
  async (names) =>
    new Map(Object.entries(values).filter(([name]) => names.includes(name)))

/** The catalog of a deployment with one plugin, which asks for `GITHUB_TOKEN`. */
export const githubTools = {
  list: async () => [
    {
      id: 'github-tools',
      name: 'GitHub tools',
      description: 'Searches issues.',
      secrets: ['GITHUB_TOKEN'],
      state: 'enabled' as const,
      tier: 'community' as const,
      version: '1.0.0',
      hash: 'f'.repeat(64),
      lines: [],
      missing: [],
      grantEpoch: 0,
      config: {},
      versions: 1,
      waiting: 0,
      isTold: true,
      notes: [],
    },
  ],
  show: async () => undefined,
  failed: async () => [],
  generations: async () => [],
  policy: async () => ({ generation: 0, policy: defaultToolPolicy }),
  exposed: async () => ({ generation: 0, exposed: defaultExposure }),
  change: async () => ({ generation: 1, notes: [] }),
}
