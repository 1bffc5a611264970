import { createServer, type Server } from 'node:http'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { main } from '../../cli/main.ts'
import { buildFolder, isPackageModule } from '../../cli/plugin-build.ts'
import { runAlone } from '../../cli/sandbox.ts'

// A stranger's folder on its reader's machine: what the commands for authors do with it.
const base = mkdtempSync(join(tmpdir(), 'isola-stranger-'))
const canary = 'canary-of-this-machine'
let reached = 0
let server: Server
let port = 0

beforeAll(async () => {
  vi.stubEnv('ISOLA_CANARY', canary)
  writeFileSync(join(base, 'private.json'), JSON.stringify({ canary }))
  writeFileSync(join(base, 'private.txt'), canary)
  server = createServer((_request, response) => {
    reached++
    response.end(canary)
  }).on('connection', () => reached++)
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  port = (server.address() as AddressInfo).port
})
afterAll(() => {
  vi.unstubAllEnvs()
  server.close()
  rmSync(base, { recursive: true, force: true })
})

const yaml = `id: stranger
name: Stranger
version: 0.1.0
entrypoint: main.ts
description: A stranger's.
contributes: { tools: [{ name: go, description: Goes. }] }
`
const mainText = 'export default () => ({ tools: { go: async () => 1 } })\n'

function folder(name: string, files: Readonly<Record<string, string>>): string {
  const path = join(base, name)
  mkdirSync(path)
  const all = { 'plugin.yaml': yaml, 'main.ts': mainText, ...files }
  for (const [file, text] of Object.entries(all)) writeFileSync(join(path, file), text)
  return path
}

async function isola(...words: readonly string[]) {
  let said = ''
  const write = (text: string) => ((said += text), true)
  const code = await main(words, { stdout: { write }, stderr: { write } })
  return { code, said }
}

/** Each tells what came of it as a line `TRIED <name>: <text>`. */
const attempts = (target: number) => `
import { it } from 'vitest'
const hidden = (name) => import(name)
const attempt = (name, work) => it(name, async () => {
  const told = await Promise.race([
    (async () => work())().then((value) => 'GOT ' + value, (error) => 'REFUSED ' + error),
    new Promise((done) => setTimeout(() => done('REFUSED by silence'), 2_000)),
  ])
  console.log('TRIED ' + name + ': ' + told)
})
const url = 'http://127.0.0.1:${target}/'
attempt('environment', async () => {
  const { env } = await hidden('cloudflare:' + 'workers')
  return JSON.stringify(Object.entries(env).map(([key, value]) => [key, typeof value]))
})
attempt('process', async () => JSON.stringify((await hidden('node:' + 'process')).env))
attempt('fetch', async () => (await fetch(url)).text())
attempt('fetch of the world', async () => (await fetch('https://example.com/')).text())
attempt('websocket', () => new Promise((done, fail) => {
  const socket = new WebSocket(url.replace('http', 'ws'))
  socket.addEventListener('open', () => done('open'))
  socket.addEventListener('error', () => fail('error'))
  socket.addEventListener('close', () => fail('closed'))
}))
attempt('socket', async () => {
  const { connect } = await hidden('cloudflare:' + 'sockets')
  const socket = connect('127.0.0.1:${target}')
  await socket.opened
  const writer = socket.writable.getWriter()
  await writer.write(new TextEncoder().encode('GET / HTTP/1.0\\r\\n\\r\\n'))
  const { value } = await socket.readable.getReader().read()
  return new TextDecoder().decode(value)
})
attempt('node socket', async () => {
  const { connect } = await hidden('node:' + 'net')
  return new Promise((done, fail) => {
    const socket = connect(${target}, '127.0.0.1', () => socket.write('GET / HTTP/1.0\\r\\n\\r\\n'))
    socket.on('data', (data) => done(String(data)))
    socket.on('error', fail)
  })
})
attempt('node http', async () => {
  const { get } = await hidden('node:' + 'http')
  return new Promise((done, fail) => get(url, (answer) => answer.on('data', (data) => done(String(data)))).on('error', fail))
})
attempt('another isolate', async () => {
  const { env } = await hidden('cloudflare:' + 'workers')
  const js = 'export default { async fetch() { return new Response(await (await fetch("' + url + '")).text()) } }'
  const code = { compatibilityDate: '2026-08-01', mainModule: 'a.js', modules: { 'a.js': { js } } }
  const answer = await env.LOADER.load(code).getEntrypoint().fetch('http://x/')
  return answer.text()
})
for (const path of ${JSON.stringify([join(base, 'private.txt'), '/etc/hostname', join(import.meta.dirname, '../../package.json')])}) {
  attempt('import ' + path, async () => JSON.stringify(await hidden(path)))
  attempt('import raw ' + path, async () => JSON.stringify(await hidden(path + '?raw')))
  attempt('read ' + path, async () => (await hidden('node:' + 'fs')).readFileSync(path, 'utf8'))
}
attempt('write', async () => (await hidden('node:' + 'fs')).writeFileSync(${JSON.stringify(join(base, 'written.txt'))}, 'x') ?? 'written')
attempt('command', async () => String((await hidden('node:' + 'child_process')).execSync('id')))
`

/** Writes a file where it can: what runs it has its reader's rights. */
const marker = (name: string) => join(base, `ran-${name}`)
const marks = (name: string) => `
try { globalThis.process.getBuiltinModule('node:fs').writeFileSync(${JSON.stringify(marker(name))}, '') } catch {}
await fetch('http://127.0.0.1:${port}/').catch(() => {})
`

describe('isola plugin test', () => {
  it('hands a stranger’s tests no setting, no file and no network of this machine, in both hosts', async () => {
    const path = folder('attempts', { 'main.test.ts': attempts(port) })
    const { code, said } = await isola('plugin', 'test', path)
    const tried = [...said.matchAll(/TRIED (.*?): (GOT|REFUSED) ?(.*)/g)]
    const got = tried.filter(([, , way]) => way === 'GOT').map(([, name, , text]) => [name, text])
    expect(code).toBe(0)
    expect(said).not.toContain(canary)
    expect(reached).toBe(0)
    // `process` of workerd: an environment with nothing in it.
    const once = [
      ['environment', '[["RUNNER","object"]]'],
      ['process', '{}'],
    ]
    expect(got).toEqual([...once, ...once])
    expect(tried).toHaveLength(2 * 20)
    expect(said).toContain('There is no network in tests. Fake what a host answers')
  })

  it('runs nothing of a folder outside of its sandbox, whatever tools would look for there', async () => {
    const names = ['vite.config.ts', 'vitest.config.ts', 'postcss.config.mjs', 'esbuild.config.mjs']
    const configs = Object.fromEntries(names.map((name) => [name, marks(name)]))
    const path = folder('configured', {
      ...configs,
      'package.json': JSON.stringify({ type: 'module', scripts: { pretest: 'exit 1' } }),
      'main.ts': `${marks('main')}${mainText}`,
      'main.test.ts': `import { it } from 'vitest'\n${marks('test')}\nit('is there', () => {})\n`,
    })
    await isola('plugin', 'test', path)
    expect(readdirSync(base).filter((name) => name.startsWith('ran-'))).toEqual([])
    expect(reached).toBe(0)
  })

  it('P12: tests a plugin of 127.0.0.1:3000 as it works in development: faked, that port alone, and the machine is not reached', async () => {
    const path = folder('local', {
      'plugin.yaml': `${yaml.replace('description: Goes.', 'description: Goes., input_schema: { type: object, properties: { at: { type: string } } }')}grants: { network: [{ host: '127.0.0.1:3000', methods: [GET] }] }\n`,
      'main.ts': `export default () => ({ tools: { go: async ({ at }, { fetch }) => (await fetch(at)).text() } })\n`,
      'main.test.ts': `import { expect, it } from 'vitest'
import { plugin } from 'isola/testing'
const fetch = async (url) => new Response('faked ' + url)
const go = (at, options) => plugin.call('go', { at }, options)
it('calls it', async () => {
  expect(await go('http://127.0.0.1:3000/a', { fetch })).toBe('faked http://127.0.0.1:3000/a')
})
for (const at of ['http://127.0.0.1:3001/', 'http://127.0.0.1/', 'http://localhost:3000/', 'http://127.0.0.1:${port}/'])
  it('refuses ' + at, async () => {
    await expect(go(at, { fetch })).rejects.toThrow('not granted: network GET')
  })
it('reaches nothing that is not faked', async () => {
  await expect(go('http://127.0.0.1:3000/')).rejects.toThrow()
})
`,
    })
    const { code, said } = await isola('plugin', 'test', path)
    expect({ code, said }).toMatchObject({ code: 0 })
    expect(said.match(/✓ (calls|refuses|reaches)/g)).toHaveLength(2 * 6)
    expect(reached).toBe(0)
  })

  it('says which test failed, why and where', async () => {
    const path = folder('failing', {
      'main.test.ts': `import { expect, it } from 'vitest'
import { plugin } from 'isola/testing'
it('adds', async () => {
  expect(await plugin.call('go', {})).toBe(2)
})
it('compares', () => {
  expect({ a: '\\u001b]0;title\\u0007' }).toEqual({ a: 1 })
})
`,
    })
    const { code, said } = await isola('plugin', 'test', path)
    expect(code).toBe(1)
    expect(said).toMatch(/✗ adds\n\s+expected 1 to be 2[^]*at main\.test\.ts:4:39/)
    // What a stranger's test says moves no cursor and sets no title.
    expect(said).toMatch(/✗ compares/)
    expect(said).not.toMatch(/[^\P{Cc}\n]|\[3[12]m/u)
  })
})

it('ends what does not end by itself: schemas after half a minute, tests after ten', async () => {
  const busy = 'export default { async fetch() { for (;;) {} } }'
  await expect(runAlone(busy, { timeoutMs: 1_000 })).rejects.toThrow(
    'does not end: it was stopped after 1 seconds',
  )
})

describe('isola plugin build', () => {
  it('reads schemas without running the module in its own process', async () => {
    const zod = JSON.stringify(join(import.meta.dirname, '../../node_modules/zod/index.js'))
    const path = folder('schemas', {
      'main.ts': `import { z } from ${zod}
${marks('schemas')}
export const schemas = { go: z.object({ to: z.string(), env: z.literal(JSON.stringify(globalThis.process?.env ?? {})) }) }
export default () => ({ tools: { go: async () => 1 } })
`,
    })
    const { manifest } = await buildFolder(path)
    expect(manifest.contributes.tools[0]?.input_schema).toMatchObject({
      properties: { to: { type: 'string' }, env: { const: '{}' } },
    })
    expect(existsSync(marker('schemas'))).toBe(false)
    expect(reached).toBe(0)
  })

  const imports = (path: string) => `import text from ${JSON.stringify(path)}
export default () => ({ tools: { go: async () => text } })
`
  it.each([
    ['a path', { 'main.ts': imports('../private.json') }],
    ['an absolute path', { 'main.ts': imports(join(base, 'private.txt')) }],
    [
      'a path of tsconfig.json',
      {
        'main.ts': imports('secret'),
        'tsconfig.json': '{ "compilerOptions": { "paths": { "secret": ["../private.json"] } } }',
      },
    ],
    ['a link', { 'main.ts': imports('./link.json') }],
    [
      'a link that is not followed',
      {
        'main.ts': imports('./link.json'),
        'tsconfig.json': '{ "compilerOptions": { "preserveSymlinks": true } }',
      },
    ],
  ])('takes no file from outside of the folder: %s', async (name, files) => {
    const path = folder(`outside-${name.replaceAll(/\W/g, '-')}`, files)
    symlinkSync(join(base, 'private.json'), join(path, 'link.json'))
    await expect(buildFolder(path)).rejects.toThrow(/is outside of the plugin's folder\. Copy it/)
  })

  const asText = (path: string, kind: string) =>
    imports(path).replace('\n', ` with { type: '${kind}' }\n`)
  const packed = (file: string) => join(base, 'node_modules/other', file)
  it.each([
    ['a hidden file', imports(packed('.dev.vars'))],
    ['a hidden file as text', asText(packed('.dev.vars'), 'text')],
    ['a hidden file as bytes', asText(packed('.dev.vars'), 'bytes')],
    ['a script as text', asText(packed('index.js'), 'text')],
    ['a file in a hidden folder', imports(packed('.wrangler/state.json'))],
    ['a file that is no module', imports(packed('private.txt'))],
    ['a link to one', imports('./node_modules/link/private.txt')],
    ['a file of this clone', imports(join(import.meta.dirname, '../../package.json'))],
  ])('takes from packages their modules, and nothing else: %s', async (name, main) => {
    for (const file of ['.dev.vars', 'index.js', '.wrangler/state.json', 'private.txt', 'a.json']) {
      mkdirSync(join(packed(file), '..'), { recursive: true })
      writeFileSync(packed(file), JSON.stringify(canary))
    }
    const path = folder(`package-${name.replaceAll(/\W/g, '-')}`, { 'main.ts': main })
    mkdirSync(join(path, 'node_modules'))
    symlinkSync(packed(''), join(path, 'node_modules/link'))
    await expect(buildFolder(path)).rejects.toThrow(
      /is outside of the plugin's folder|is no module of a package/,
    )
    writeFileSync(join(path, 'main.ts'), asText(packed('a.json'), 'json'))
    expect((await buildFolder(path)).bundle.code).toContain(canary)
  })

  it('takes nothing of an Isola that is installed beside it, and what that one has installed', () => {
    const ours = join(base, 'node_modules/isola')
    const files = ['src/a.js', 'secrets.json', 'node_modules/zod/index.js']
    for (const file of files) {
      mkdirSync(join(ours, file, '..'), { recursive: true })
      writeFileSync(join(ours, file), '')
    }
    const taken = files.map((file) => isPackageModule(join(ours, file), {}, ours))
    expect(taken).toEqual([false, false, true])
  })

  it('takes no README.md that is a link', async () => {
    const path = folder('readme', {})
    symlinkSync(join(base, 'private.txt'), join(path, 'README.md'))
    await expect(buildFolder(path)).rejects.toThrow('README.md is a link out of the plugin')
  })
})
