import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { checkDeployment } from '../../../cli/doctor/deployment.ts'
import { planTenant, readConfig, tenantConfig } from '../../../cli/deploy/tenant.ts'
import type { Io } from '../../../cli/command.ts'
import type { WranglerProgram } from '../../../cli/deploy/wrangler.ts'
import { isola } from '../../fakes/terminal.ts'
import { runFake } from '../../fakes/wrangler.mjs'

const wrangler = join(import.meta.dirname, '../../fakes/wrangler.mjs')
const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }

interface Account {
  readonly databases: readonly {
    readonly uuid: string
    readonly name: string
    isMigrated?: boolean
  }[]
  readonly namespaces: readonly { readonly id: string; readonly title: string }[]
  readonly workers: Record<string, { secrets: Record<string, string>; database: string }>
}

let home: string
let url: string
let stop: () => Promise<unknown>
/** A Worker that forgot to ask for a key. */
let isOpen: boolean

const accountPath = () => join(home, 'account.json')
const account = () => JSON.parse(readFileSync(accountPath(), 'utf8')) as Account
const keysPath = (worker = 'isola-acme') => join(home, 'deployments', worker, 'keys')
const keys = (worker?: string) => readFileSync(keysPath(worker), 'utf8')
const calls = () =>
  readFileSync(join(home, 'calls.jsonl'), 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as string[])

/** Answers like the Worker that the stand-in has deployed. */
async function startWorker(): Promise<string> {
  const server = createServer((request, response) => {
    const send = (status: number, body: unknown) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    }
    const worker = existsSync(accountPath()) ? Object.values(account().workers)[0] : undefined
    if (!worker) return send(404, {})
    if (request.url === '/healthz') return send(200, { status: 'ok' })
    const key = worker.secrets['ISOLA_OPERATOR_KEY']
    if (key === undefined) return send(503, { error: { message: 'no key' } })
    if (!isOpen && request.headers.authorization !== `Bearer ${key}`) return send(401, {})
    if (request.url === '/v1/models') return send(200, { data: [{ id: 'orchestrator' }] })
    if (request.url === '/api/operator/http') return send(200, { hosts: [], elsewhere: 'ask' })
    const database = account().databases.find(({ uuid }) => uuid === worker.database)
    const migrations = { state: database?.isMigrated ? 'ready' : 'not_migrated' }
    send(200, { version, database: 'ok', migrations, plugins: [], models: { default: null } })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  stop = () => new Promise((resolve) => server.close(resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** The stand-in in this process, with the environment that a process would have. */
const here: WranglerProgram = async (args, { input, env }) =>
  runFake(args, { input, env: { ...process.env, ...env } })
const inProcess = { wrangler: here }
/** As an operator has it: a process for each call, a dozen for a deployment. */
const inProcesses = { env: { ISOLA_WRANGLER: wrangler } }

const deployBy = (io: Partial<Io>, ...options: string[]) => {
  const folder = join(home, 'deployments')
  return isola(['deploy', '--tenant', 'acme', '--wait', '0', '--folder', folder, ...options], io)
}
const deploy = (...options: string[]) => deployBy(inProcess, ...options)

beforeEach(async () => {
  isOpen = false
  home = mkdtempSync(join(tmpdir(), 'isola-deploy-test-'))
  url = await startWorker()
  vi.stubEnv('WRANGLER_FAKE', home)
  vi.stubEnv('WRANGLER_FAKE_URL', url)
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await stop()
  rmSync(home, { recursive: true, force: true })
})

describe('isola deploy', () => {
  it('M7: makes a Worker, a database, a namespace and secrets of the tenant, and checks what answers', async () => {
    const { code, stdout, stderr } = await deployBy(inProcesses)
    expect(stderr).toBe('')
    expect(code).toBe(0)
    const { databases, namespaces, workers } = account()
    expect(databases).toEqual([{ uuid: 'db-1', name: 'isola-acme', isMigrated: true }])
    expect(namespaces).toEqual([
      { id: 'kv-1', title: 'isola-acme-kv' },
      { id: 'kv-2', title: 'isola-acme-oauth-kv' },
    ])
    expect(Object.keys(workers)).toEqual(['isola-acme'])
    expect(Object.keys(workers['isola-acme']!.secrets)).toEqual([
      'ISOLA_OPERATOR_KEY',
      'ISOLA_MASTER_KEY',
    ])
    expect(stdout).toContain('8/8 check: http://127.0.0.1')
    expect(stdout).toContain('No model is set')
  })

  it('M7: leaves a tenant as it is when it is run again', async () => {
    await deploy()
    const before = account()
    const { code, stdout } = await deploy()
    expect(code).toBe(0)
    expect(account()).toEqual(before)
    expect(stdout).toContain('isola-acme found')
    expect(stdout).not.toMatch(/isk_/)
  })

  it('M7: two tenants share nothing', async () => {
    await deploy()
    const folder = join(home, 'deployments')
    await isola(['deploy', '--tenant', 'globex', '--wait', '0', '--folder', folder], inProcess)
    const { databases, namespaces, workers } = account()
    expect(databases.map(({ name }) => name)).toEqual(['isola-acme', 'isola-globex'])
    expect(namespaces.map(({ title }) => title)).toEqual([
      'isola-acme-kv',
      'isola-acme-oauth-kv',
      'isola-globex-kv',
      'isola-globex-oauth-kv',
    ])
    expect(workers['isola-globex']!.database).toBe('db-2')
    expect(workers['isola-acme']!.secrets).not.toEqual(workers['isola-globex']!.secrets)
  })

  const asking = ['whoami', 'd1 list', 'd1 execute', 'kv namespace list', 'secret list']
  const making = [
    'd1 create',
    'kv namespace create',
    'd1 migrations apply',
    'deploy',
    'secret put ISOLA_OPERATOR_KEY',
    'secret put ISOLA_MASTER_KEY',
  ]
  const faults = [
    ...[...asking, ...making].map((command) => `${command}:before`),
    ...making.map((command) => `${command}:after`),
  ]
  it.each(faults)(
    'F34: what broke at "%s" is repaired by the next run, with nothing made twice',
    async (fault) => {
      vi.stubEnv('WRANGLER_FAIL', fault)
      const broken = await deploy()
      expect(broken.code).toBe(1)
      expect(broken.stderr).toMatch(/\d\/8 \w+ failed: wrangler .*\n?[^]*A fault was asked for/)
      vi.stubEnv('WRANGLER_FAIL', '')
      const { code, stdout, stderr } = await deploy()
      expect(stderr).toBe('')
      expect(code).toBe(0)
      const { databases, namespaces, workers } = account()
      expect([databases.length, namespaces.length, Object.keys(workers).length]).toEqual([1, 2, 1])
      const { ISOLA_OPERATOR_KEY: key, ISOLA_MASTER_KEY: master } = workers['isola-acme']!.secrets
      expect(keys()).toContain(`ISOLA_OPERATOR_KEY=${key}\n`)
      expect(keys()).toContain(`ISOLA_MASTER_KEY=${master}\n`)
      expect(keys()).not.toContain('_NEXT')
      // Whichever of the two runs made the key showed it, once.
      expect((broken.stdout + stdout).match(/isk_\S+/g)).toEqual([key])
    },
  )

  it('keeps secrets out of arguments, output and every file but the key file', async () => {
    vi.stubEnv('WRANGLER_FAIL', 'secret put:before') // its error repeats the value
    const broken = await deployBy(inProcesses)
    expect(broken.stderr).toContain('[secret]')
    vi.stubEnv('WRANGLER_FAIL', '')
    const { stdout, stderr } = await deployBy(inProcesses)
    const { ISOLA_OPERATOR_KEY: key = '', ISOLA_MASTER_KEY: master = '' } =
      account().workers['isola-acme']!.secrets
    expect(broken.stdout + broken.stderr + stderr).not.toContain(key)
    expect(stdout.split(key)).toHaveLength(2) // shown once
    expect(stdout + stderr + broken.stdout + broken.stderr).not.toContain(master)
    expect(JSON.stringify(calls())).not.toContain(key)
    expect(JSON.stringify(calls())).not.toContain(master)
    const written = readdirSync(join(home, 'deployments'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
    const holding = written.filter((path) => /isk_/.test(readFileSync(path, 'utf8')))
    expect(holding).toEqual([keysPath()])
    expect(statSync(keysPath()).mode & 0o777).toBe(0o600)
  })

  it('never replaces a key that the Worker has, even if this machine does not know it', async () => {
    await deploy()
    const before = account()
    rmSync(keysPath())
    const { code, stdout } = await deploy()
    expect(code).toBe(0)
    expect(account()).toEqual(before)
    expect(stdout).toContain('its value is not on this machine')
    expect(stdout).toContain('only what a stranger sees was checked')
  })

  it('puts back a secret that the Worker has lost', async () => {
    await deploy()
    const key = account().workers['isola-acme']!.secrets['ISOLA_OPERATOR_KEY']
    const lost = account()
    delete lost.workers['isola-acme']!.secrets['ISOLA_OPERATOR_KEY']
    writeFileSync(accountPath(), JSON.stringify(lost))
    const { stdout } = await deploy()
    expect(account().workers['isola-acme']!.secrets['ISOLA_OPERATOR_KEY']).toBe(key)
    expect(stdout).not.toContain(key)
  })

  it('rotates the operator key on demand, and only that one; a rotation that broke is finished by the next run', async () => {
    await deploy()
    const before = account().workers['isola-acme']!.secrets
    vi.stubEnv('WRANGLER_FAIL', 'secret put:after')
    expect((await deploy('--rotate-key')).code).toBe(1)
    vi.stubEnv('WRANGLER_FAIL', '')
    const { code } = await deploy()
    expect(code).toBe(0)
    const after = account().workers['isola-acme']!.secrets
    expect(after['ISOLA_OPERATOR_KEY']).not.toBe(before['ISOLA_OPERATOR_KEY'])
    expect(after['ISOLA_MASTER_KEY']).toBe(before['ISOLA_MASTER_KEY'])
    expect(keys()).toContain(after['ISOLA_OPERATOR_KEY'])
  })

  it('fails when what was deployed does not answer, and the next run finds that it does', async () => {
    await deploy()
    vi.stubEnv('WRANGLER_FAKE_URL', 'http://127.0.0.1:1')
    const { code, stderr } = await deploy()
    expect(code).toBe(1)
    expect(stderr).toContain('8/8 check failed: http://127.0.0.1:1')
    vi.unstubAllEnvs()
    vi.stubEnv('WRANGLER_FAKE', home)
    vi.stubEnv('WRANGLER_FAKE_URL', url)
    expect((await deploy()).code).toBe(0)
  })

  it('says that its network is closed and how to open it, and asks nothing without a terminal', async () => {
    const { code, stdout } = await deploy()
    expect(code).toBe(0)
    expect(stdout).toContain('Its network is closed to the http tools')
    expect(stdout).toContain('isola http allow <host>')
  })

  it('fails when the Worker lets a stranger in', async () => {
    isOpen = true
    const { code, stderr } = await deploy()
    expect(code).toBe(1)
    expect(stderr).toContain('/v1/models without a key answered 200, not 401')
  })

  it('asks which account, if the login has several, and takes the one that is named', async () => {
    vi.stubEnv('WRANGLER_FAKE_ACCOUNTS', 'acc-1 acc-2')
    const { code, stderr } = await deploy()
    expect(code).toBe(1)
    expect(stderr).toContain('set CLOUDFLARE_ACCOUNT_ID to one of acc-1 (Test), acc-2 (Test)')
    const named = (id: string) =>
      isola(['deploy', '--wait', '0', '--folder', join(home, 'named')], {
        ...inProcess,
        env: { CLOUDFLARE_ACCOUNT_ID: id },
      })
    expect((await named('acc-3')).stderr).toContain('This login has no account acc-3')
    expect((await named('acc-2')).code).toBe(0)
    const config = readFileSync(join(home, 'named', 'isola', 'wrangler.json'), 'utf8')
    expect(JSON.parse(config)).toMatchObject({ name: 'isola', account_id: 'acc-2' })
  })

  it.each(['--wait=soon', '--wait=-1', '--url=nowhere', '--url=ftp://x'])(
    'refuses %s before anything is made',
    async (option) => {
      expect((await deploy(option)).code).toBe(2)
      expect(existsSync(accountPath())).toBe(false)
    },
  )

  it('the doctor tells what a deployment lacks', async () => {
    const about = {
      env: { ISOLA_WRANGLER: wrangler },
      tenant: 'acme',
      folder: join(home, 'deployments'),
    }
    const bad = async () =>
      (await checkDeployment(about)).filter(({ state }) => state !== 'ok').map(({ what }) => what)
    expect(await bad()).toEqual(['isola-acme was not deployed from here.'])
    await deploy()
    expect(await bad()).toEqual([])
    chmodSync(keysPath(), 0o644)
    expect(await bad()).toEqual(['Others on this machine can read its keys.'])
    rmSync(keysPath())
    const lost = account()
    lost.workers['isola-acme']!.secrets = { ISOLA_OPERATOR_KEY: 'x' }
    writeFileSync(accountPath(), JSON.stringify(lost))
    expect(await bad()).toEqual([
      'Its keys are not on this machine.',
      'isola-acme lacks ISOLA_MASTER_KEY.',
    ])
  })

  it('M7: refuses a database of a build before the first release, and makes and changes nothing', async () => {
    const older = { uuid: 'db-1', name: 'isola-acme', applied: ['0001_init.sql', '0002_x.sql'] }
    const before = { id: 'acc-1', databases: [older], namespaces: [], workers: {} }
    writeFileSync(accountPath(), JSON.stringify(before))
    const { code, stderr } = await deploy()
    expect(code).toBe(1)
    expect(stderr).toContain(
      'The database isola-acme was made by a build before the first release of Isola and was not changed: deploy this version under another name (isola deploy --tenant <name>), or delete that one first.',
    )
    expect(account()).toEqual(before)
  })

  it('M7: refuses the Durable Objects of such a build, and leaves them as they are', async () => {
    await deploy()
    const before = account()
    Object.assign(before.workers['isola-acme']!, { isOlder: true })
    writeFileSync(accountPath(), JSON.stringify(before))
    const { code, stderr } = await deploy()
    expect(code).toBe(1)
    expect(stderr).toContain(
      'The Durable Objects of isola-acme were made by a build before the first release of Isola and were not changed: deploy this version under another name',
    )
    expect(account()).toEqual(before)
  })

  it('says how to log in when wrangler is not logged in', async () => {
    vi.stubEnv('WRANGLER_FAKE_LOGIN', 'none')
    const { code, stderr } = await deployBy(inProcesses)
    expect(code).toBe(1)
    expect(stderr).toContain(
      'This machine is not logged in to Cloudflare. Log in with `npx wrangler login`',
    )
    expect(existsSync(join(home, 'deployments'))).toBe(false)
  })

  it('refuses to deploy a tenant to another account than before', async () => {
    await deploy()
    const { code, stderr } = await isola(
      ['deploy', '--tenant', 'acme', '--folder', join(home, 'deployments')],
      { ...inProcess, env: { CLOUDFLARE_ACCOUNT_ID: 'acc-2' } },
    )
    expect(code).toBe(1)
    expect(stderr).toContain('This tenant is in account acc-1')
  })

  it.each(['Acme', '-acme', 'acme-', 'a.b', 'a'.repeat(41), '../up'])(
    'refuses the tenant name %s',
    async (name) => {
      const { code, stderr } = await isola(['deploy', `--tenant=${name}`, '--dry-run'])
      expect(code).toBe(2)
      expect(stderr).toContain('--tenant must be')
    },
  )

  it('M7: --dry-run says what would be made and asks for nothing', async () => {
    const { code, stdout } = await deploy('--dry-run', '--json')
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      worker: 'isola-acme',
      databases: ['isola-acme'],
      namespaces: ['isola-acme-kv', 'isola-acme-oauth-kv'],
    })
    expect(calls().map(([command, option]) => `${command} ${option}`)).toEqual(['deploy --dry-run'])
    expect(existsSync(join(home, 'deployments'))).toBe(false)
  })
})

describe("a tenant's configuration", () => {
  const config = {
    name: 'isola',
    main: 'src/index.ts',
    routes: ['chat.example.com/*'],
    dev: { port: 1 },
    account_id: 'acc-1',
    d1_databases: [
      { binding: 'DB', database_name: 'mine', database_id: 'd', migrations_dir: 'migrations' },
    ],
    kv_namespaces: [{ binding: 'KV', id: 'k' }],
  }

  it('M7: takes no address, database or namespace of another deployment', () => {
    const plan = planTenant(config, { tenant: 'acme', folder: '/x' })
    const made = tenantConfig(config, plan)
    expect(plan.databases).toMatchObject([{ name: 'isola-acme', id: undefined }])
    expect(JSON.parse(JSON.stringify(made))).toMatchObject({
      name: 'isola-acme',
      d1_databases: [{ binding: 'DB', database_name: 'isola-acme' }],
    })
    for (const theirs of ['chat.example.com', '"d"', '"k"', 'mine', '"dev"'])
      expect(JSON.stringify(made)).not.toContain(theirs)
  })

  it('without a tenant is what wrangler.toml says', () => {
    const plan = planTenant(config, { folder: '/x' })
    expect(plan.databases).toMatchObject([{ name: 'mine', id: 'd' }])
    expect(plan.namespaces).toMatchObject([{ name: 'isola-kv', id: 'k' }])
    const made = tenantConfig(config, plan, { ids: { DB: 'd', KV: 'k' } })
    expect(made).toMatchObject({
      name: 'isola',
      routes: ['chat.example.com/*'],
      kv_namespaces: [{ id: 'k' }],
    })
  })

  it('takes the Worker Loader out for a plan that does not have it, and nothing else', async () => {
    const real = await readConfig()
    const made = (withoutIsolates: boolean) =>
      tenantConfig(real, planTenant(real, { tenant: 'acme', folder: '/x', withoutIsolates }))
    const { worker_loaders: loaders, ...rest } = made(false)
    expect(loaders).toEqual([{ binding: 'LOADER' }])
    expect(made(true)).toEqual(rest)
  })

  it('M7: keeps everything else of the wrangler.toml that is here', async () => {
    const real = await readConfig()
    const made = tenantConfig(real, planTenant(real, { tenant: 'acme', folder: '/x' }))
    for (const name of [
      'compatibility_date',
      'compatibility_flags',
      'durable_objects',
      'migrations',
    ])
      expect(made[name]).toEqual(real[name])
  })
})
