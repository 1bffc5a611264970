import { spawn, spawnSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freePort, startServer, type RunningServer } from './server.ts'

const root = join(import.meta.dirname, '../..')

/** The environment of another user: nothing of this clone's npm, settings or keys. */
const clean = { ...process.env }
for (const name of Object.keys(clean))
  if (/^(npm_|ISOLA_|OPENAI_|INIT_CWD)/i.test(name)) Reflect.deleteProperty(clean, name)

/** The Node that was there before the packages: at least 20. */
function nodeOfMachine(): string {
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  const own = folders.filter((folder) => !folder.includes('node_modules'))
  return own.map((folder) => join(folder, 'node')).find(existsSync) ?? process.execPath
}

type Env = Readonly<Record<string, string>>

interface Said {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

function run(
  command: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly env?: Env; readonly input?: string },
): Promise<Said> {
  const env = { ...clean, npm_config_loglevel: 'error', ...options.env }
  const child = spawn(command, args, { cwd: options.cwd, env })
  const said = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk: Buffer) => (said.stdout += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (said.stderr += chunk.toString()))
  child.stdin.end(options.input ?? '')
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, ...said })))
}

/** Of all files in and under a folder. */
function megabytesOf(folder: string): number {
  const sizes = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => statSync(join(entry.parentPath, entry.name)).size)
  return sizes.reduce((sum, size) => sum + size, 0) / 2 ** 20
}

describe('the command as a package, installed elsewhere', () => {
  const away = mkdtempSync(join(tmpdir(), 'isola-packed-'))
  const state = join(away, 'state')
  let files: readonly string[]
  let server: RunningServer
  /** An installation without the packages that build and test plugins. */
  let alone: { readonly megabytes: number; readonly test: Said; readonly client: Said }
  const command = join(away, 'node_modules/isola/scripts/bin.mjs')
  const client = "import { createClient } from 'isola/client'; console.log(typeof createClient)"

  beforeAll(async () => {
    const packed = await run('npm', ['pack', '--json', '--pack-destination', away], { cwd: root })
    expect(packed).toMatchObject({ code: 0 })
    const tarball = join(away, 'isola-0.1.0.tgz')
    files = spawnSync('tar', ['tzf', tarball], { encoding: 'utf8' }).stdout.trim().split('\n')
    const install = ['install', '--prefer-offline', '--no-audit', '--no-fund', tarball]
    // The package `node` asks npm for its binary: that one is taken from npm's store as well.
    const env = { npm_config_prefer_offline: 'true' }
    expect(await run('npm', install, { cwd: away, env })).toMatchObject({ code: 0 })
    const own = join(away, 'own')
    mkdirSync(own)
    const manifest = 'id: own\nname: Own\nversion: 0.1.0\nentrypoint: main.ts\ndescription: Own.\n'
    writeFileSync(join(own, 'plugin.yaml'), `${manifest}contributes: {}\n`)
    writeFileSync(join(own, 'main.ts'), 'export default () => ({})\n')
    alone = {
      megabytes: megabytesOf(join(away, 'node_modules')),
      // On the Node of these tests, whichever the machine has.
      test: await run(process.execPath, [command, 'plugin', 'test', 'own'], { cwd: away }),
      client: await run(process.execPath, ['--input-type=module', '-e', client], { cwd: away }),
    }
    const { peerDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      peerDependencies: Readonly<Record<string, string>>
    }
    const more = Object.entries(peerDependencies).map(([name, version]) => `${name}@${version}`)
    expect(await run('npm', [...install, ...more], { cwd: away, env })).toMatchObject({ code: 0 })
    server = await startServer({ state, port: await freePort() })
  }, 400_000)
  afterAll(async () => {
    await server?.stop()
    rmSync(away, { recursive: true, force: true })
  })

  const isola = (args: readonly string[], options: { env?: Env; input?: string } = {}) =>
    run('npx', ['isola', ...args], { cwd: away, ...options })
  const asked = (args: readonly string[], input?: string) =>
    isola(args, {
      env: { ISOLA_URL: server.url, ISOLA_KEY: server.key },
      ...(input !== undefined && { input }),
    })

  /** TypeScript over one file of the folder, strict. */
  const tsc = (file: string) => {
    const options = ['--ignoreConfig', '--noEmit', '--strict', '--module', 'nodenext']
    const found = [...options, '--target', 'es2024', '--types', '', file]
    return run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), ...found], {
      cwd: away,
    })
  }

  it('I25: is small for a program that wants the client, and says what plugins are tested with', () => {
    expect(alone.client).toEqual({ code: 0, stdout: 'function\n', stderr: '' })
    expect(alone.megabytes).toBeLessThan(40)
    expect(alone.test).toMatchObject({ code: 1, stdout: '' })
    expect(alone.test.stderr).toMatch(/npm install --save-dev esbuild@[\d.]+ miniflare@\S+/)
  })

  it('holds the command, its types and the docs, and no test, source or local state', () => {
    const other = files.filter(
      (name) =>
        !/^package\/(packed\/.+\.(m?js|d\.ts)|docs\/((tasks\/)?[\w-]+\.md|openapi\.json)|(README|CHANGELOG)\.md|LICENSE|package\.json|scripts\/(bin|install-lock|toolchain)\.mjs)$/.test(
          name,
        ),
    )
    expect(other).toEqual([])
    expect(files).toContain('package/packed/isola.mjs')
    for (const name of files.filter((one) => one.includes('/packed/'))) {
      const text = readFileSync(
        join(away, 'node_modules/isola', name.replace('package/', '')),
        'utf8',
      )
      for (const secret of [server.key, root]) expect(text.includes(secret), name).toBe(false)
    }
  })

  it('explains itself, and asks for a key where there is none, or an empty one', async () => {
    const help = await isola(['--help'])
    expect(help).toMatchObject({ code: 0, stderr: '' })
    expect(help.stdout).toContain('isola plugin new <folder>')
    const none = await isola(['session', 'list'])
    expect(none).toMatchObject({ code: 1, stdout: '' })
    expect(none.stderr).toContain('ISOLA_KEY is not set')
    const empty = await isola(['session', 'list'], { env: { ISOLA_KEY: '' } })
    expect(empty.stderr).toContain('ISOLA_KEY is set, and empty')
  })

  it('says what needs a clone, and looks at the server alone', async () => {
    expect((await isola(['deploy', '--dry-run'])).stderr).toContain('needs a clone')
    const report = JSON.parse((await asked(['doctor', '--json'])).stdout) as {
      findings: { check: string; state: string }[]
    }
    expect(report.findings.filter(({ state: is }) => is !== 'ok')).toEqual([])
  })

  it('makes a plugin, checks its types, tests it in both hosts, builds and installs it, and talks to it', async () => {
    expect(await isola(['plugin', 'new', 'greeter'])).toMatchObject({ code: 0, stderr: '' })
    const tsc = join(root, 'node_modules/typescript/bin/tsc')
    const checked = await run(process.execPath, [tsc, '-p', 'greeter'], { cwd: away })
    expect(checked).toMatchObject({ code: 0, stdout: '' })

    const tested = await isola(['plugin', 'test', 'greeter'])
    expect(tested).toMatchObject({ code: 0 })
    expect(tested.stdout).toMatch(/✓ greets by name[^]*isolate[^]*✓ greets by name/)

    expect(await isola(['plugin', 'build', 'greeter'])).toMatchObject({ code: 0 })
    const bundle = 'greeter-0.1.0.isola.json'
    expect(existsSync(join(away, bundle))).toBe(true)
    expect(await asked(['plugin', 'add', bundle])).toMatchObject({ code: 0 })
    expect(await asked(['plugin', 'enable', 'greeter'])).toMatchObject({ code: 0 })
    const chat = await asked(['chat'], 'Use greeter to greet Ada\n')
    expect(chat.stdout).toContain('Hello, Ada!')
  })

  it('gives what `isola/plugin` exports, to a program too', async () => {
    const program = "import { ToolError } from 'isola/plugin'; console.log(ToolError.name)"
    const said = await run(process.execPath, ['--input-type=module', '-e', program], { cwd: away })
    expect(said).toEqual({ code: 0, stdout: 'ToolError\n', stderr: '' })
  })

  it('I25: gives the embedded agent with its types: the example runs, and what does not fit is told', async () => {
    copyFileSync(join(root, 'examples/agent.mjs'), join(away, 'agent.mjs'))
    // In the host's own Node, which may be older than the one that the command brings.
    for (const node of [process.execPath, nodeOfMachine()]) {
      expect(await run(node, ['agent.mjs', 'Oslo'], { cwd: away })).toEqual({
        code: 0,
        stdout: 'clock was called\ncompleted: It is noon in Oslo. (2 model calls)\n',
        stderr: '',
      })
    }
    const typed = (more: string) => `
      import { Agent, type ModelProvider, type Tool } from 'isola/agent'
      export const start = (tools: readonly Tool[], modelProviders: readonly ModelProvider[]) =>
        new Agent({ id: 'a', taskPrompt: 'b', tools, modelProviders${more} }).run()
          .then(({ result }): string => result)`
    writeFileSync(join(away, 'fits.ts'), typed(''))
    writeFileSync(join(away, 'misfits.ts'), typed(', maxSteps: "four"'))
    expect(await tsc('fits.ts')).toMatchObject({ code: 0, stdout: '' })
    expect((await tsc('misfits.ts')).stdout).toContain("Type 'string' is not assignable")
  })

  it('gives a client of the API with its types: the example runs, and what does not fit is told', async () => {
    copyFileSync(join(root, 'examples/client.mjs'), join(away, 'client.mjs'))
    const env = { ISOLA_URL: server.url, ISOLA_KEY: server.key }
    for (const node of [process.execPath, nodeOfMachine()]) {
      expect(await run(node, ['client.mjs', 'What time is it?'], { cwd: away, env })).toMatchObject(
        {
          code: 0,
          stdout: expect.stringMatching(/completed\n$/) as string,
          stderr: '',
        },
      )
    }
    const refused = await run(process.execPath, ['client.mjs'], {
      cwd: away,
      env: { ...env, ISOLA_KEY: 'isk_wrong' },
    })
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('key') as string })
    const typed = (state: string, more: string) => `
      import { createClient, type Reply } from 'isola/client'
      const client = createClient({ url: 'https://isola.example', key: 'isk_x' })
      export const last = async (id: string): Promise<${state} | undefined> => {
        const tree: Reply<'GET /api/sessions/:id'> =
          await client.request('GET /api/sessions/:id', { params: { id }, query: { limit: 1 }${more} })
        for await (const item of client.events(id))
          if (item.type === 'tool_started') { const tool: string = item.data.tool; void tool }
        return tree.children[0]?.runs.at(-1)?.result?.usage.tokens
      }`
    writeFileSync(join(away, 'asks.ts'), typed('number', ''))
    writeFileSync(join(away, 'misreads.ts'), typed('string', ''))
    writeFileSync(join(away, 'misasks.ts'), typed('number', ', body: {}'))
    expect(await tsc('asks.ts')).toMatchObject({ code: 0, stdout: '' })
    expect((await tsc('misreads.ts')).stdout).toContain(
      "not assignable to type 'string | undefined'",
    )
    expect((await tsc('misasks.ts')).stdout).toContain("'body' does not exist")
  })
})

describe('the command in a clone', () => {
  it('is started by its bin from any folder, where what is relative is looked for', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'isola-bin-'))
    try {
      const bin = [join(root, 'scripts/bin.mjs'), 'plugin', 'new', 'greeter']
      expect(await run(process.execPath, bin, { cwd: folder })).toMatchObject({ code: 0 })
      expect(existsSync(join(folder, 'greeter/plugin.yaml'))).toBe(true)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
