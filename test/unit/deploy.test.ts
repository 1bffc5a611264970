import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const manifest = JSON.parse(read('package.json')) as {
  readonly dependencies: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
}
const pinned = { ...manifest.dependencies, ...manifest.devDependencies }

describe('what it is made of', () => {
  it.each([
    'typescript',
    'wrangler',
    'hono',
    'agents',
    '@modelcontextprotocol/sdk',
    'zod',
    'openai',
    '@cloudflare/vitest-pool-workers',
  ])('M1: %s is pinned exactly, and that version is installed', (name) => {
    expect(pinned[name]).toMatch(/^\d+\.\d+\.\d+(-alpha(\.\d+)?)?$/)
    const installed = JSON.parse(read(`node_modules/${name}/package.json`)) as { version: string }
    expect(installed.version).toBe(pinned[name])
  })

  it('M1: no package is left to drift', () => {
    for (const version of Object.values(pinned))
      expect(version).toMatch(/^\d+\.\d+\.\d+(-alpha(\.\d+)?)?$/)
  })
})

describe('deploying', () => {
  const config = read('wrangler.toml')

  it('M2: the configuration names no account and no ids: each deployment has its own', () => {
    expect(config).not.toMatch(/^\s*(?:account_id|zone_id|database_id|preview_id|id)\s*=/m)
    expect(config).toMatch(/^\[\[d1_databases\]\]$/m)
    expect(config).toMatch(/^new_sqlite_classes = \["Session", /m)
  })

  it('M2, M3: wrangler takes it as it is, with the objects, the database and the namespace bound', () => {
    const out = mkdtempSync(join(tmpdir(), 'isola-deploy-'))
    try {
      const { status, stdout, stderr } = spawnSync(
        process.execPath,
        [
          join(root, 'node_modules/wrangler/bin/wrangler.js'),
          'deploy',
          '--dry-run',
          '--outdir',
          out,
        ],
        {
          cwd: root,
          encoding: 'utf8',
          // No account: whatever the machine is logged in to must not matter.
          env: { ...process.env, HOME: out, CLOUDFLARE_API_TOKEN: '', CLOUDFLARE_ACCOUNT_ID: '' },
        },
      )
      expect(status, stderr).toBe(0)
      expect(stdout).toMatch(/env\.SESSION \(Session\)\s+Durable Object/)
      expect(stdout).toMatch(/env\.DB \(isola\)\s+D1 Database/)
      expect(stdout).toMatch(/env\.KV\b.*KV Namespace/)
      expect(stdout).toMatch(/env\.OAUTH_KV\b.*KV Namespace/)
      expect(readdirSync(out)).toContain('index.js')
    } finally {
      rmSync(out, { recursive: true, force: true })
    }
  })

  it("M7: wrangler takes a tenant's configuration, which `isola deploy` makes from the same file", () => {
    const home = mkdtempSync(join(tmpdir(), 'isola-tenant-'))
    try {
      const { status, stdout, stderr } = spawnSync(
        process.execPath,
        [join(root, 'scripts/isola.mjs'), 'deploy', '--tenant', 'acme', '--dry-run'],
        {
          cwd: root,
          encoding: 'utf8',
          env: { ...process.env, HOME: home, CLOUDFLARE_API_TOKEN: '', CLOUDFLARE_ACCOUNT_ID: '' },
        },
      )
      expect(status, stderr).toBe(0)
      expect(stdout).toMatch(/^Worker +isola-acme$/m)
      expect(stdout).toContain('`wrangler deploy --dry-run` takes it.')
    } finally {
      rmSync(home, { recursive: true, force: true })
    }
  })
})

describe('the Deploy to Cloudflare button', () => {
  const described = Object.keys(
    (JSON.parse(read('package.json')) as { cloudflare: { bindings: object } }).cloudflare.bindings,
  )
  const asked = [...read('.dev.vars.example').matchAll(/^(\w+)=/gm)].map(([, name]) => name)

  it('explains each secret that it asks for, and asks for no setting of a developer', () => {
    expect(described).toEqual(expect.arrayContaining(asked))
    expect(asked).not.toContain('ISOLA_ENV')
  })

  it('explains each binding', () => {
    const bound = [...read('wrangler.toml').matchAll(/^(?:binding|name) = "([A-Z_]+)"$/gm)].map(
      ([, name]) => name,
    )
    expect(bound.length).toBeGreaterThan(3)
    expect(described).toEqual(expect.arrayContaining(bound))
  })
})
