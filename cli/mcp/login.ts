// isola mcp login: the deployment, or each principal for itself, signs in at a remote server.
import { verb } from '../command.ts'
import { flag, text } from '../options.ts'
import { shown } from '../text.ts'
import { UsageError } from '../usage.ts'

/** Names the page to open; with a code, ends what was begun. */
export const login = verb({
  usage: '<id> [--mine [--code <code>]]',
  about:
    'Names the page to sign in at. The browser comes back to this deployment, which keeps what it gets sealed.\n' +
    'Without --mine the deployment signs in, by an operator. With --mine you do, where each signs in (--each-signs-in):\n' +
    'the browser then shows a code, and --code <code> ends it.',
  options: {
    mine: flag('sign in yourself, where each does'),
    code: text(undefined, 'what the browser showed'),
  },
  async run({ args: [id], values: { mine, code }, ask, print }) {
    if (code !== undefined) {
      if (!mine) throw new UsageError('--code: goes with --mine.')
      const done = await ask('POST /api/mcp/:server/login/finish', { code })
      return print(done, `${id}: you are signed in.`)
    }
    const done = await ask(
      mine ? 'POST /api/mcp/:server/login' : 'POST /api/operator/mcp/:server/login',
    )
    if (done.state !== 'open') {
      const next = `no sign-in is needed. Next: isola mcp show ${id}`
      return print(done, `${id}: ${mine ? 'you are signed in.' : next}`)
    }
    const then = mine
      ? `Then, with the code that the browser shows: isola mcp login ${id} --mine --code <code>`
      : `Then: isola mcp show ${id}`
    print(done, `Open this page and sign in:\n\n${shown(done.url)}\n\n${then}`)
  },
})
