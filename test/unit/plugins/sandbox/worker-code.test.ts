import { expect, it } from 'vitest'
import { createIsolates } from '../../../../src/features/plugins/sandbox/worker-code.ts'

type GetCode = () => Promise<WorkerLoaderWorkerCode>

/** A loader that keeps what it was asked. */
function createFakeLoader() {
  const asked: { id: string | null; getCode: GetCode }[] = []
  const loader = {
    get(id: string | null, getCode: GetCode) {
      asked.push({ id, getCode })
      return { getEntrypoint: () => ({ run: async () => 'ran' }) }
    },
    load(code: WorkerLoaderWorkerCode) {
      asked.push({ id: null, getCode: async () => code })
      return { getEntrypoint: () => ({ run: async () => 'ran' }) }
    },
  } as unknown as WorkerLoader
  return { loader, asked }
}

const shim = {
  modules: { 'entry.ts': 'entry', 'isola/plugin': 'api' },
  modelModules: { 'entry.ts': 'model entry' },
  version: 'v',
}

it('T5, T6: every isolate has no binding, no network, one flag, limits and our modules', async () => {
  const { loader, asked } = createFakeLoader()
  const isolates = createIsolates({ loader, shim, codeOf: async (plugin) => `code of ${plugin}` })
  isolates?.open('id-1', 'hash-1')
  expect(asked[0]?.id).toBe('id-1')
  const { modules, ...code } = await asked[0]!.getCode()
  expect(code).toEqual({
    compatibilityDate: expect.stringMatching(/^\d{4}-\d{2}-\d{2}$/) as unknown,
    compatibilityFlags: ['nodejs_als'],
    limits: { cpuMs: 10_000, subRequests: 1_200 },
    mainModule: 'entry.ts',
    env: {},
    globalOutbound: null,
  })
  expect(modules).toMatchObject({
    'entry.ts': { js: 'entry' },
    'isola/plugin': { js: 'api' },
    'plugin-code.js': { js: 'code of hash-1' },
  })
  for (const name of ['cloudflare:sockets', 'cloudflare:node', 'cloudflare:workflows'])
    expect(modules[name]).toEqual({ js: expect.stringMatching(/^throw new Error/) as unknown })
})

it('T24: code that cannot be had does not fail the callback, which would stick to the id', async () => {
  const { loader, asked } = createFakeLoader()
  const codeOf = () => Promise.reject(new Error('the store is down'))
  createIsolates({ loader, shim, codeOf })?.open('id', 'hash')
  const code = await asked[0]!.getCode()
  expect(code).toMatchObject({ env: {}, globalOutbound: null })
  expect(JSON.stringify(code.modules['entry.ts'])).toContain('plugin_code_unavailable')
})

it('there are none without the binding', () => {
  expect(createIsolates({ loader: undefined, shim, codeOf: async () => '' })).toBeUndefined()
})

it('P32: code that a model wrote gets the same nothing, and other modules of ours', async () => {
  const { loader, asked } = createFakeLoader()
  createIsolates({ loader, shim, codeOf: async () => '' })?.openModelCode('return 1')
  expect(asked[0]?.id).toBeNull()
  const { modules, ...code } = await asked[0]!.getCode()
  expect(code).toMatchObject({ env: {}, globalOutbound: null, compatibilityFlags: ['nodejs_als'] })
  expect(modules).toMatchObject({
    'entry.ts': { js: 'model entry' },
    'plugin-code.js': { js: 'export default async (tools, console) => {\nreturn 1\n}' },
  })
  expect(modules).not.toHaveProperty('isola/plugin')
  expect(modules['cloudflare:sockets']).toBeDefined()
})

it('H: 200 refused zips ended the server: an isolate that is used once has no id under which it stays', () => {
  const { loader, asked } = createFakeLoader()
  const isolates = createIsolates({ loader, shim, codeOf: async () => '' })!
  isolates.openReader('export default 1')
  isolates.openModelCode('return 1')
  isolates.open('stays', 'hash')
  expect(asked.map(({ id }) => id)).toEqual([null, null, 'stays'])
})
