import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startLiveAuth } from '../fakes/live-auth.ts'
import { freePort, startServer, type RunningServer } from './server.ts'

const temp = mkdtempSync(join(tmpdir(), 'isola-mcp-own-'))
let live: Awaited<ReturnType<typeof startLiveAuth>>
let server: RunningServer
let port = 0

beforeAll(async () => {
  live = await startLiveAuth()
  port = await freePort()
  server = await startServer({ state: join(temp, 'state'), port })
})
afterAll(async () => {
  await server?.stop()
  await live?.close()
  rmSync(temp, { recursive: true, force: true })
})

/** A principal with a key, at a command line without a terminal. */
function at(key: string) {
  const isola = async (...args: readonly string[]) => {
    const env = { ...process.env, ISOLA_URL: server.url, ISOLA_KEY: key, PORT: String(port) }
    const child = spawn(process.execPath, ['scripts/isola.mjs', ...args], { env })
    const said = { stdout: '', stderr: '' }
    child.stdout.on('data', (chunk: Buffer) => (said.stdout += chunk.toString()))
    child.stderr.on('data', (chunk: Buffer) => (said.stderr += chunk.toString()))
    child.stdin.end()
    const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
    return { code, ...said }
  }
  /** The output of a command; it has to end well. */
  const well = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await isola(...args)
    expect({ code, stderr: code === 0 ? '' : stderr }, `isola ${args.join(' ')}`).toEqual({
      code: 0,
      stderr: '',
    })
    return stdout
  }
  /** Opens the named page as a person with this account. @returns The page that the browser shows at the end. */
  const browse = async (account: Readonly<Record<string, string>>): Promise<string> => {
    const page = new URL(/^http\S+$/m.exec(await well('mcp', 'login', 'each', '--mine'))?.[0] ?? '')
    for (const [name, value] of Object.entries(account)) page.searchParams.set(name, value)
    return (await fetch(page)).text()
  }
  return {
    isola,
    well,
    browse,
    signIn: async (account: string) => {
      const [, ...args] =
        /isola (mcp login each --mine --code \w+)/.exec(await browse({ account })) ?? []
      return well(...(args[0] ?? '').split(' '))
    },
    /** The offline model calls the tool that a task names. */
    async say(text: string): Promise<string> {
      const response = await fetch(`${server.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          model: 'orchestrator',
          messages: [{ role: 'user', content: `Use each__say with text "${text}".` }],
        }),
      })
      const { choices } = (await response.json()) as { choices: { message: { content: string } }[] }
      return String(choices[0]?.message.content)
    },
  }
}

describe('isola mcp add --each-signs-in', () => {
  it('T2: has two principals call as themselves, from the address to the logout', async () => {
    const operator = at(server.key)
    const add = ['mcp', 'add', 'each', '--url', live.url]
    expect(await operator.isola(...add, '--oauth', '--each-signs-in')).toMatchObject({
      stderr: expect.stringContaining('--each-signs-in: give it without --oauth'),
    })
    expect(await operator.well(...add, '--each-signs-in')).toContain(
      'Next: isola mcp login each --mine',
    )
    expect(await operator.isola('mcp', 'login', 'each')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('isola mcp login each --mine'),
    })
    expect(await operator.well('mcp', 'show', 'each')).toContain(
      'Each signs in for themselves, and you are not signed in: isola mcp login each --mine',
    )
    const [ada, bob] = await Promise.all(
      ['ada', 'bob'].map(async (name) =>
        at((await operator.well('key', 'add', name, '--role', 'user')).trim()),
      ),
    )
    if (!ada || !bob) throw new Error('no keys')
    // A principal without the role of operator hears of it once it is on.
    expect(await ada.isola('mcp', 'login', 'each', '--mine')).toMatchObject({
      code: 1,
      stderr: 'isola: There is no such MCP server.\n',
    })
    expect(await operator.signIn('the-operator')).toBe('each: you are signed in.\n')
    const hash = /--hash ([0-9a-f]+)/.exec(await operator.well('mcp', 'show', 'each'))?.[1] ?? ''
    await operator.well('mcp', 'approve', 'each', '--yes', '--hash', hash, '--harmless', '*')
    await operator.well('mcp', 'enable', 'each')

    expect(await ada.say('too early')).toContain('isola mcp login each --mine')
    expect(await ada.browse({ denied: 'yes' })).toContain('was denied')
    await ada.signIn('ada-at-work')
    expect(await ada.say('hello')).toContain('ada-at-work said: hello')
    expect(await bob.say('hello')).toContain('isola mcp login each --mine')

    // A stranger opens the page of bob's sign-in: without the code the sign-in ends nowhere, and with it only for bob.
    const shown = await bob.browse({ account: 'bob-at-work' })
    const code = /--code (\w+)/.exec(shown)?.[1] ?? ''
    expect(await ada.isola('mcp', 'login', 'each', '--mine', '--code', code)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('not one that was begun here'),
    })
    expect(await bob.say('hello')).toContain('isola mcp login each --mine')
    await bob.well('mcp', 'login', 'each', '--mine', '--code', code)
    expect(await bob.say('hello')).toContain('bob-at-work said: hello')
    expect(await ada.say('hello')).toContain('ada-at-work said: hello')

    expect(await ada.isola('mcp', 'logout', 'each')).toMatchObject({
      stderr: expect.stringContaining('--mine: is needed'),
    })
    expect(await ada.well('mcp', 'logout', 'each', '--mine')).toBe('each: you are signed out.\n')
    expect(await ada.say('hello')).toContain('isola mcp login each --mine')
    expect(await ada.isola('mcp', 'forget', 'bob', '--yes')).toMatchObject({ code: 1 })
    expect(await operator.well('mcp', 'forget', 'bob', '--yes')).toBe('bob: signed out at each.\n')
    expect(await bob.say('hello')).toContain('isola mcp login each --mine')
    expect(await operator.say('hello')).toContain('the-operator said: hello')
    await operator.well('mcp', 'remove', 'each', '--yes')
    expect(await operator.isola('mcp', 'login', 'each', '--mine')).toMatchObject({ code: 1 })
  })
})
