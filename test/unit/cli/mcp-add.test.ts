import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { isola } from '../../fakes/terminal.ts'

const env = { ISOLA_URL: 'https://isola.example', ISOLA_KEY: 'isk_test' }
const temp = mkdtempSync(join(tmpdir(), 'isola-mcp-add-'))
afterAll(() => rmSync(temp, { recursive: true, force: true }))

function fileOf(json: unknown): string {
  const path = join(temp, 'servers.json')
  writeFileSync(path, JSON.stringify(json))
  return path
}

/** A deployment that takes every server but those that are refused by its id. */
function createDeployment(refused: Readonly<Record<string, string>> = {}) {
  const asked: Record<string, unknown>[] = []
  const fetch = async (_url: unknown, { body }: RequestInit = {}) => {
    const server = JSON.parse(String(body)) as Record<string, unknown>
    asked.push(server)
    const message = refused[String(server['id'])]
    return message === undefined
      ? Response.json({ generation: 1, notes: [] })
      : Response.json({ error: { message } }, { status: 400 })
  }
  const add = (argv: readonly string[], input = '') =>
    isola(['mcp', 'add', ...argv], { env, fetch: fetch as typeof globalThis.fetch, input })
  return { asked, add }
}

const remoteAt = (host: string) => ({ type: 'streamable-http', url: `https://${host}/mcp` })
const block = { mcpServers: { docs: { url: 'https://docs.example.com/mcp' } } }

describe('isola mcp add', () => {
  it('replaces a server that is there only with --replace', async () => {
    const { asked, add } = createDeployment()
    const argv = ['docs', '--url', 'https://docs.example.com/mcp']
    await add(argv)
    await add([...argv, '--replace'])
    await add(['--file', fileOf(block), '--replace'])
    expect(asked.map(({ replace }) => replace)).toEqual([undefined, true, true])
  })

  it('--dry-run shows no value of a header and no key of an address that is written out', async () => {
    const { asked, add } = createDeployment()
    const headers = [
      'X-Key: secret-1',
      'Authorization: Bearer ${secret:DOCS}',
      'X-Two: secret-2${secret:A}',
    ]
    const url = 'https://me:secret-4@docs.example.com/mcp?key=secret-5'
    const argv = ['docs', '--url', url, '--dry-run']
    const all = [...argv, ...headers.flatMap((line) => ['--header', line])]
    const file = fileOf({
      mcpServers: { docs: { ...block.mcpServers.docs, headers: { 'X-Key': 'secret-3' } } },
    })
    for (const words of [all, [...all, '--json'], ['--file', file, '--dry-run']]) {
      const { code, stdout } = await add(words)
      expect([code, stdout]).toEqual([0, expect.stringContaining('"X-Key": "(not shown)"')])
      expect(stdout).not.toContain('secret-')
      if (words !== all) continue
      expect(stdout).toContain('"Authorization": "Bearer ${secret:DOCS}"')
      expect(stdout).toContain('"https://(not shown)@docs.example.com/mcp?key=(not shown)"')
    }
    expect(asked).toEqual([])
  })

  it('has each of its options in its usage line', async () => {
    const { add } = createDeployment()
    const [usage = '', ...rest] = (await add(['--help'])).stdout.split('\n\n')
    const options = rest.join('\n').matchAll(/^ {2}(--[a-z-]+)/gm)
    for (const [, option = ''] of options) if (option !== '--json') expect(usage).toContain(option)
  })
})

describe('isola mcp add --file', () => {
  it.each<readonly [string, unknown, string]>([
    ['an mcpServers block', block, 'docs'],
    [
      "a registry's server.json",
      { name: 'a/tickets', remotes: [remoteAt('t.example.com')] },
      'tickets',
    ],
  ])('takes %s without an id, from a file and from the standard input', async (_what, json, id) => {
    const { asked, add } = createDeployment()
    expect(await add(['--file', fileOf(json)])).toMatchObject({
      code: 0,
      stdout: `${id} is added and off.\nNext: isola mcp show ${id}\n`,
    })
    expect(await add(['--file', '-'], JSON.stringify(json))).toMatchObject({ code: 0, stderr: '' })
    expect(asked.map((server) => server['id'])).toEqual([id, id])
  })

  it('tries each entry and names what became of it, and answers 1 if one was refused', async () => {
    const url = 'https://x.example.com/mcp'
    const mcpServers = {
      first: { url },
      second: { url },
      third: { url },
      files: { command: 'npx' },
    }
    const { asked, add } = createDeployment({ second: 'headers.Authorization: must name a secret' })
    const { code, stdout, stderr } = await add(['--file', fileOf({ mcpServers })])
    const why = 'second is refused: headers.Authorization: must name a secret\n'
    expect({ code, stderr }).toEqual({ code: 1, stderr: why })
    expect(asked.map(({ id }) => id)).toEqual(['first', 'second', 'third'])
    expect(stdout).toContain('first is added and off.')
    expect(stdout).not.toContain('second')
    expect(stdout).toContain('third is added and off.')
    expect(stdout).toMatch(/^files: .*not runnable here$/m)
  })

  it('says of a block without servers that there is none', async () => {
    const { asked, add } = createDeployment()
    const { code, stderr } = await add(['--file', fileOf({ mcpServers: {} })])
    expect(code).toBe(2)
    expect(stderr).toContain('--file: There is no server in it.')
    expect(asked).toEqual([])
  })
})
