import { createSchemaValidator } from '../../src/runtime/catalog/schema-validator.ts'
import { createSealing } from '../../src/features/access/secrets/sealing.ts'
import {
  createServerParts,
  type McpServerRuntime,
} from '../../src/features/mcp-servers/server-parts.ts'
import { createReplyRedactor } from '../../src/features/plugins/secrets/reply-redactor.ts'
import { secureBytes, systemSources } from '../../src/compose/sources.ts'
import { sha256 } from './mcp-link.ts'
import { outboundOver } from './outbound.ts'

const keys = { current: `${'A'.repeat(42)}A=`, previous: '' }

/** The platform's part of a remote server's object, in memory. */
export function createObjectStorage() {
  const kept = new Map<string, unknown>()
  const kv = {
    get: (key: string) => kept.get(key),
    put: (key: string, value: unknown) => void kept.set(key, value),
    delete: (key: string) => kept.delete(key),
    list: ({ prefix = '' }: { readonly prefix?: string } = {}) =>
      [...kept].filter(([key]) => key.startsWith(prefix)),
  }
  const sql = { exec: () => undefined }
  const storage = {
    kv,
    sql,
    deleteAll: async () => kept.clear(),
  } as unknown as DurableObjectStorage
  return { kept, storage }
}

/** The whole object of a remote server; `answer` is its network. */
export function createMcpObject(
  answer: (request: Request) => Promise<Response>,
  more: Partial<McpServerRuntime> & { readonly name?: string } = {},
) {
  const { kept, storage } = createObjectStorage()
  const signedIn: object[] = []
  const id = { toString: () => more.name ?? 'object' } as DurableObjectId
  const object = createServerParts(
    { storage, id },
    {
      ...systemSources,
      ...outboundOver((url, init) => answer(new Request(url, init))),
      readSecrets: async () => new Map<string, string>(),
      validator: createSchemaValidator(),
      version: '1',
      redactorOf: (values) => createReplyRedactor(values).text,
      onQuarantined: () => {},
      onSignedIn: (what, principal) =>
        void signedIn.push({ ...what, ...(principal !== undefined && { principal }) }),
      learn: () => {},
      secret: () => systemSources.ids.next('login'),
      sealing: createSealing(keys, { sha256, randomBytes: secureBytes }),
      ...more,
    },
  )
  return { object, kept, signedIn }
}
