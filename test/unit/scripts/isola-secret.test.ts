import { EventEmitter } from 'node:events'
import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { clientOf } from '../../fakes/app-client.ts'
import command from '../../../cli/secret.ts'
import { githubTools } from '../../fakes/secrets.ts'
import { createFakeApp } from '../../fakes/http-deps.ts'
import { runVerb } from '../../fakes/run-verb.ts'

const canary = 'canary-0123456789'

/** The verbs over the app itself, as the frame would run them. */
function open() {
  const { send } = createFakeApp({ deps: { plugins: githubTools } })
  let shown = ''
  const run = async (
    verb: keyof typeof command.verbs,
    args: string[] = [],
    stdin: unknown = '',
  ) => {
    shown = ''
    const code = await runVerb(command.verbs[verb], {
      args,
      stdin: typeof stdin === 'string' ? Readable.from([stdin]) : stdin,
      stderr: { write: (text: string) => void (shown += text) },
      request: clientOf(send).request,
      print: (value: unknown, text: string) => void (shown += `${text}\n${JSON.stringify(value)}`),
    })
    return { code: code ?? 0, text: shown }
  }
  return run
}

/** A person who types these keys. */
const terminal = (keys: string) => {
  const modes: boolean[] = []
  const stdin = Object.assign(new EventEmitter(), {
    isTTY: true,
    modes,
    setRawMode: (mode: boolean) => void modes.push(mode),
    setEncoding: () => {},
    resume: () => void setImmediate(() => stdin.emit('data', keys)),
    pause: () => {},
  })
  return stdin
}

describe('isola secret', () => {
  it.each([canary, `${canary}\n`, `${canary}\r\n`])(
    'reads a value from a pipe: %j',
    async (text) => {
      const run = open()
      const answer = await run('set', ['GITHUB_TOKEN'], text)
      expect(answer.text).toContain('GITHUB_TOKEN is set.')
      const { text: listed } = await run('list')
      expect(listed).toMatch(/^GITHUB_TOKEN +\S+Z +operator +github-tools$/m)
      expect(answer.text + listed).not.toContain('canary')
    },
  )

  it('reads it hidden from a terminal, which is as it was after that', async () => {
    const stdin = terminal(`${canary}x\x7f\r`)
    const { text } = await open()('set', ['GITHUB_TOKEN'], stdin)
    expect(stdin.modes).toEqual([true, false])
    expect(text).toMatch(/^Value of GITHUB_TOKEN: \nGITHUB_TOKEN is set\./)
    expect(text).not.toContain('canary')
  })

  it('sets nothing when it is cancelled, or there is no value', async () => {
    const run = open()
    await expect(run('set', ['A'], terminal('abc\x03'))).rejects.toThrow('nothing was set')
    await expect(run('set', ['A'], '\n')).rejects.toThrow('no value')
    expect((await run('list')).text).toMatch(/^GITHUB_TOKEN +not set +github-tools$/m)
  })

  it('takes no value from the command line', () => {
    expect(command.verbs.set.usage).toBe('isola secret set <name>')
  })

  it('removes, and rotates with counts', async () => {
    const run = open()
    await run('set', ['A'], canary)
    expect(await run('rotate')).toMatchObject({
      code: 0,
      text: expect.stringContaining('0 sealed anew, 1 were under this key already.') as string,
    })
    expect((await run('remove', ['A'])).text).toContain('A is removed')
    await expect(run('remove', ['A'])).rejects.toThrow('There is no such secret.')
  })
})
