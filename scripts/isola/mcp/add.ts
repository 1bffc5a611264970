// isola mcp add: a server by its address, or several from a file.
import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { toServers } from '../mcp-import.ts'
import { short } from '../text.ts'
import { UsageError } from '../usage.ts'
import { only, path, post } from './route.ts'

function toHeaders(lines = []) {
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf(':')
      if (at < 1) throw new UsageError(`--header: "${short(line, 40)}" is not 'Name: value'.`)
      return [line.slice(0, at).trim(), line.slice(at + 1).trim()]
    }),
  )
}

/** What it may ask for in the middle of a call; nothing unless it is said. */
function toAllow({ elicitation, 'sampling-tokens': tokens }) {
  if (!elicitation && tokens === undefined) return {}
  const maxTokens = Number(tokens ?? 1)
  if (!Number.isSafeInteger(maxTokens) || maxTokens < 1)
    throw new UsageError('--sampling-tokens: give a whole number above 0.')
  return {
    allow: {
      ...(elicitation && { elicitation: true }),
      ...(tokens !== undefined && { sampling: { maxTokens } }),
    },
  }
}

async function fromFile(file, stdin) {
  const json = file === '-' ? await text(stdin) : readFileSync(file, 'utf8')
  try {
    return toServers(JSON.parse(json))
  } catch (error) {
    throw new UsageError(`--file: ${error.message}`)
  }
}

/** @returns 1 if one of them was refused. */
export async function add({ args, values, request, print, stdin }) {
  const { url, header, file, oauth, exclusive, 'auth-host': authHosts } = values
  const { 'client-id': clientId, 'client-secret': clientSecret, issuer } = values
  if ((file === undefined) === (url === undefined))
    throw new UsageError('Give either --url with an <id>, or --file.')
  const more = {
    ...(oauth && { auth: 'oauth' }),
    ...(exclusive && { exclusive: true }),
    ...(values.replace && { replace: true }),
    ...toAllow(values),
    ...(authHosts && { authHosts }),
    ...(clientId && { clientId }),
    ...(issuer && { issuer }),
    ...(clientSecret && { clientSecret: `\${secret:${clientSecret}}` }),
  }
  const { servers, skipped } =
    file === undefined
      ? { servers: [{ id: only(args), url, headers: toHeaders(header) }], skipped: [] }
      : await fromFile(file, stdin)
  const { added, refused } = await addEach(
    servers.map((server) => ({ ...server, ...more })),
    { request, isAlone: file === undefined },
  )
  const lines = [
    ...added.flatMap(({ id, notes }) => [
      `${id} is added and off.`,
      ...notes,
      `Next: isola mcp ${oauth ? 'login' : 'show'} ${id}`,
    ]),
    ...refused.map(({ id, why }) => `${id} is refused: ${why}`),
    ...skipped.map(({ id, why }) => `${id}: ${why}`),
  ]
  print({ added, refused, skipped }, lines.join('\n'))
  return added.length === 0 || refused.length > 0 ? 1 : 0
}

/** Of several each is tried, whatever becomes of the others; what is wrong with one alone is thrown. */
async function addEach(servers, { request, isAlone }) {
  const added = []
  const refused = []
  for (const server of servers) {
    try {
      added.push({ id: server.id, ...(await post(request, path, server)) })
    } catch (error) {
      if (isAlone) throw error
      refused.push({ id: server.id, why: error.message })
    }
  }
  return { added, refused }
}
