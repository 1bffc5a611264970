// isola mcp login: the deployment, or each principal for itself, signs in at a remote server.
import type { Context, ValuesOf } from '../command.ts'
import { flag, text, type Options } from '../options.ts'
import { shown } from '../text.ts'
import { UsageError } from '../usage.ts'

export const loginOptions = {
  mine: flag('sign in yourself, where each does'),
  code: text(undefined, 'what the browser showed'),
} as const satisfies Options

/** Names the page to open; with a code, ends what was begun. */
export async function login({
  args: [id],
  values: { mine, code },
  request,
  print,
}: Context<ValuesOf<typeof loginOptions>, [string]>) {
  const params = { server: id }
  if (code !== undefined) {
    if (!mine) throw new UsageError('--code: goes with --mine.')
    const done = await request('POST /api/mcp/:server/login/finish', { params, body: { code } })
    print(done, `${id}: you are signed in.`)
    return
  }
  const path = mine ? 'POST /api/mcp/:server/login' : 'POST /api/operator/mcp/:server/login'
  const done = await request(path, { params })
  print(
    done,
    done.state === 'open' ? toOpen(id, done.url, mine) : `${id}: ${nobodyHasTo(id, mine)}`,
  )
}

const toOpen = (id: string, url: string, mine = false) =>
  [
    `Open this page and sign in:\n\n${shown(url)}\n`,
    mine
      ? `Then, with the code that the browser shows: isola mcp login ${id} --mine --code <code>`
      : `Then: isola mcp show ${id}`,
  ].join('\n')

const nobodyHasTo = (id: string, mine = false) =>
  mine ? 'you are signed in.' : `no sign-in is needed. Next: isola mcp show ${id}`
