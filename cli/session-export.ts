// isola session export: all of a session as JSON lines.
import { EventEmitter, once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { dirname } from 'node:path'
import { defined } from '../src/contracts/defined.ts'
import type { Client } from '../src/client/client.ts'
import { verb, type Output } from './command.ts'
import { flag, text } from './options.ts'
import { pagesOf } from './connection.ts'
import { jsonText } from './text.ts'
import { flatten, wholeTree } from './whole-tree.ts'

async function writeLines(target: Output, lines: AsyncIterable<unknown>) {
  for await (const line of lines) {
    const isFull = target.write(`${jsonText(line)}\n`) === false
    if (isFull && target instanceof EventEmitter) await once(target, 'drain')
  }
}

/** The lines of an export: what each is says `kind`, whose it is `session`. */
async function* exportLines(
  { request, events }: Client,
  { id, isDeep }: { readonly id: string; readonly isDeep: boolean },
) {
  const tree = await wholeTree(request, id)
  yield { kind: 'tree', session: id, value: tree }
  for (const { id: session } of isDeep ? flatten(tree) : [tree]) {
    const params = { id: session }
    const pages = pagesOf((after) =>
      request('GET /api/sessions/:id/transcript', { params, query: defined({ after }) }),
    )
    for await (const { messages } of pages)
      for (const value of messages) yield { kind: 'message', session, value }
    for await (const value of events(session, { follow: false })) {
      if ('seq' in value) yield { kind: 'event', session, value }
    }
  }
}

/** Why a file could not be made, and what to do. */
function whyNotWritten(path: string, { code, message }: NodeJS.ErrnoException) {
  const folder = dirname(path)
  switch (code) {
    case 'EEXIST':
      return `${path} is there already (--force replaces it).`
    case 'ENOENT':
      return `--out ${path}: there is no folder ${folder}. Make it (mkdir -p ${folder}), or name another.`
    case 'ENOTDIR':
      return `--out ${path}: ${folder} is no folder. Name another.`
    case 'EISDIR':
      return `--out ${path} is a folder. Name a file in it.`
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return `--out ${path}: you may not write there (${code}). Name a folder of yours.`
    default:
      return `--out ${path} cannot be written: ${message}`
  }
}

export const exportSession = verb({
  usage: '<session>',
  about:
    'Tree, transcript and events as JSON lines: { kind: tree | message | event, session, value }.',
  options: {
    children: flag("the sub-agents' sessions too"),
    out: text('file', 'instead of the standard output'),
    force: flag('replace the file if it is there'),
  },
  async run({ args: [id], values, connect, stdout }) {
    const { out, force, children = false } = values
    const lines = exportLines(connect(), { id, isDeep: children })
    if (out === undefined) return writeLines(stdout, lines)
    // A conversation is private: its file is its owner's.
    const file = createWriteStream(out, { flags: force ? 'w' : 'wx', mode: 0o600 })
    await once(file, 'open').catch((error: NodeJS.ErrnoException) => {
      throw new Error(whyNotWritten(out, error), { cause: error })
    })
    try {
      await writeLines(file, lines)
    } finally {
      file.end()
      await once(file, 'close')
    }
  },
})
