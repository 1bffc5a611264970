import { env } from 'cloudflare:workers'
import { expect, it } from 'vitest'
import { stripModules } from '../../src/isolate.gen.ts'
import { createStripper } from '../../src/plugins/isolate/worker-code.ts'
import { readUpload } from '../../src/plugins/install/read-upload.ts'
import { folder, manifestText, uploadDeps } from '../fakes/uploads.ts'
import { zipOf } from '../fakes/zip.ts'

const strip = createStripper(env.LOADER, stripModules)
const deps = uploadDeps({ strip })
const typed = manifestText.replace('main.js', 'main.ts')
const send = (main: string) =>
  readUpload({ zip: zipOf({ 'plugin.yaml': typed, 'main.ts': main }) }, deps)

it('unpacks an archive and takes the types out of its module, in an isolate', async () => {
  const { bundle } = await send(`
    import { ToolError, type Plugin } from 'isola/plugin'
    import type { Other } from './other.ts'
    enum Way { In = 1 }
    const text = "import x from 'not-an-import'" + ToolError.name
    const register: Plugin = () => ({ tools: { search: async (input: Other): Promise<number> => Way.In } })
    export default register`)
  expect(bundle.code).toMatch(/import { ToolError,\s*} from 'isola\/plugin'/)
  expect(bundle.code).not.toMatch(/Plugin = |Promise<|Other/)
})

it('leaves JavaScript as it is', async () => {
  const { bundle } = await readUpload({ zip: zipOf(folder) }, deps)
  expect(bundle.code).toBe(folder['main.js'])
})

it.each([
  ["import x from 'zod'\nexport default x", 'zod'],
  ["export * from './tools.ts'", './tools.ts'],
  ["import 'node:fs'", 'node:fs'],
  ["export default () => import('./late.js')", './late.js'],
  ['const name = "x"\nexport default () => import(name)', '?'],
  ["import{connect}from'cloudflare:sockets';export default connect", 'cloudflare:sockets'],
])('refuses a module that imports another: %s', async (main, name) => {
  await expect(send(main)).rejects.toMatchObject({
    code: 'plugin_upload_invalid',
    message: expect.stringContaining(JSON.stringify(name)) as unknown,
  })
})

it('says where a module cannot be read', async () => {
  await expect(send('const const = 1')).rejects.toThrow(/main\.ts.*\(1:\d+\)/)
})

it('P27: runs nothing of a module while it reads it', async () => {
  const { bundle } = await send(
    'globalThis.ran = true; throw new Error("ran")\nexport default () => ({})',
  )
  expect(bundle.code).toContain('globalThis.ran')
  expect(Reflect.get(globalThis, 'ran')).toBeUndefined()
})
