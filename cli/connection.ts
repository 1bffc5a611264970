// Which server, with which key.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root, isClone } from '../scripts/toolchain.mjs'
import { ApiError, createClient, type Client } from '../src/client/client.ts'
import { parseVars, readVarsText } from '../scripts/dev-vars.mjs'
import type { Env } from './command.ts'

/** The version of this command. */
export const ownVersion = (): string =>
  String(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version)

/** The pages of a list, one after the other: each may say where to go on. */
export async function* pagesOf<Of extends { readonly next?: string | undefined }>(
  ask: (after?: string) => Promise<Of>,
): AsyncGenerator<Of> {
  let after: string | undefined
  do {
    const page: Of = await ask(after)
    yield page
    after = page.next
  } while (after !== undefined)
}

const loopback = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/

export const isLocal = (url: string) => loopback.test(new URL(url).hostname)

/** The variables of .dev.vars; none if there is no such file. Throws if it cannot be read. */
export function readVars(path = join(root, '.dev.vars')) {
  return parseVars(readVarsText(path) ?? '')
}

export interface Server {
  readonly url: string
  readonly isLocal: boolean
  /** ISOLA_URL named it. */
  readonly isChosen: boolean
  readonly key?: string
}

/**
 * The server of `ISOLA_URL`, by default the local one, with `ISOLA_KEY`. The key of .dev.vars is for this machine's
 * server: it is sent nowhere else. A key is sent in the clear to this machine alone.
 */
export function findServer(env: Env, vars: Env = readVars()): Server {
  const text = env['ISOLA_URL'] || `http://localhost:${env['PORT'] || 8787}`
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    throw new Error('ISOLA_URL is not an http or https URL, such as https://isola.example.com.')
  const { origin, protocol, pathname } = new URL(text)
  if (pathname !== '/')
    throw new Error(`ISOLA_URL is the address of the server alone: ${origin}, without ${pathname}.`)
  const local = isLocal(origin)
  if (protocol === 'http:' && !local)
    throw new Error('ISOLA_URL must be https: over http the key could be read on the way.')
  // An empty key is a mistake, such as `ISOLA_KEY=$(…)` of a command that failed: another key is not what was meant.
  if (env['ISOLA_KEY']?.trim() === '')
    throw new Error(
      'ISOLA_KEY is set, and empty: put a key into it, or take it away (unset ISOLA_KEY).',
    )
  const key = env['ISOLA_KEY']?.trim() ?? (local ? vars['ISOLA_OPERATOR_KEY'] : undefined)
  return { url: origin, isLocal: local, isChosen: Boolean(env['ISOLA_URL']), ...(key && { key }) }
}

/** A client of one server. Throws if there is no key for it: nothing is asked without one. */
export function createConnection(
  server: Pick<Server, 'url' | 'key'>,
  io: { readonly fetch?: typeof fetch } = {},
): Client {
  const { url, key } = server
  if (!key) {
    throw new Error(
      isLocal(url)
        ? isClone
          ? 'There is no key: run `npm start` once, which makes .dev.vars, or set ISOLA_KEY.'
          : `ISOLA_KEY is not set: the key for ${url}, which \`npm start\` printed.`
        : `ISOLA_KEY is not set: the key for ${url} (that of .dev.vars is for the local server only).`,
    )
  }
  return createClient({ url, key, ...(io.fetch && { fetch: io.fetch }) })
}

/** For `catch`: a refusal with one of these statuses is no answer; other failures stay what they are. */
export const unless =
  (...statuses: readonly number[]) =>
  (error: unknown): undefined => {
    if (error instanceof ApiError && statuses.includes(error.status)) return undefined
    throw error
  }

/** Advice for a local server that does not answer. */
export const startHint = isClone
  ? 'Start it with `npm start`, or set ISOLA_URL.'
  : 'Start it, or set ISOLA_URL.'
