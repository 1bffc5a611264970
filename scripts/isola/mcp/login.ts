// isola mcp login, logout, forget: who is signed in at a remote server, the deployment or each principal.
import type { Context, Options, ValuesOf } from '../command.ts'
import { only } from '../only.ts'
import { shown } from '../text.ts'
import { UsageError } from '../usage.ts'

export const loginOptions = {
  mine: { type: 'boolean', about: 'sign in yourself, where each does' },
  code: { type: 'string', about: 'what the browser showed' },
} as const satisfies Options

/** Names the page to open; with a code, ends what was begun. */
export async function login({
  args,
  values: { mine, code },
  request,
  print,
}: Context<ValuesOf<typeof loginOptions>>) {
  const id = only(args, '<id>')
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
  mine ? 'you are signed in.' : `nobody has to sign in. Next: isola mcp show ${id}`

export const logoutOptions = { mine: loginOptions.mine } as const satisfies Options

/** Ends one's own sign-in. */
export async function logout({
  args,
  values: { mine },
  request,
  print,
}: Context<ValuesOf<typeof logoutOptions>>) {
  const id = only(args, '<id>')
  if (!mine)
    throw new UsageError(
      `--mine: is needed. What the deployment is signed in with goes with isola mcp remove ${id}.`,
    )
  const done = await request('DELETE /api/mcp/:server/login', { params: { server: id } })
  print(done, `${id}: you are signed out.`)
}

/** Ends every sign-in of somebody else. */
export async function forget({ args, request, print }: Context) {
  const principal = only(args, '<principal>')
  const route = 'DELETE /api/operator/principals/:principal/mcp-logins'
  const done = await request(route, { params: { principal } })
  const where = done.servers.length === 0 ? 'no MCP server' : done.servers.join(', ')
  print(done, `${principal}: signed out at ${where}.`)
}
