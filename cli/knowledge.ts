// isola knowledge …: documents that agents look things up in.
import type { Reply } from '../src/client/client.ts'
import { noun, on, verb, type Context } from './command.ts'
import { fetchDocument } from './fetch-document.ts'
import { findDocuments, nameOf } from './knowledge-files.ts'
import { isDeployment, scopeUsage, where, whereOf } from './memory.ts'
import { dryRun, flag, text, type ValuesOf, UsageError } from './options.ts'
import { pagesOf } from './connection.ts'
import { lines, listed, messageOf, short, shown, shownName, time } from './text.ts'

type Document = Reply<'GET /api/knowledge'>['documents'][number]

/** A document is of the person who added it, or of strangers. */
const whoseOf = ({ integrity }: Document['label']) =>
  integrity === 'stranger' ? 'foreign' : 'mine'

/** Every document of a scope, by name. */
async function allOf({ ask, values }: Context<ValuesOf<typeof where>, unknown>) {
  const documents = []
  const pages = pagesOf((after) =>
    ask('GET /api/knowledge', { ...whereOf(values), limit: 500, after }),
  )
  for await (const page of pages) documents.push(...page.documents)
  return documents.toSorted((one, other) => (one.name < other.name ? -1 : 1))
}

function described({ document, passages }: Reply<'GET /api/knowledge/:document'>) {
  const { id, name, title, type, chars, label, updatedAtMs } = document
  return lines(
    `${id} ${name}${title === undefined ? '' : ` (${title})`}`,
    `${type}, ${chars} characters, ${passages.length} passages; ${whoseOf(label)}; changed ${time(updatedAtMs)}`,
    passages.map(({ cite, text }) => `\n[${cite}]\n${text}`),
  )
}

/**
 * The documents that are meant: by id, by name, all from under a folder, or by the file name that one of them has.
 * Throws
 * before anything is removed, if one is not there.
 */
async function namedBy(context: Context<ValuesOf<typeof where>>) {
  const known = await allOf(context)
  return [...new Set(context.args.flatMap((wanted) => fitting(known, wanted)))]
}

function fitting(known: readonly Document[], wanted: string): readonly Document[] {
  const path = nameOf(wanted).replace(/\/$/, '')
  const exact = known.filter(({ id, name }) => id === wanted || name === wanted || name === path)
  const under = exact.length > 0 ? exact : known.filter(({ name }) => name.startsWith(`${path}/`))
  if (under.length > 0) return under
  const called = known.filter(({ name }) => name.endsWith(`/${path}`))
  if (called.length === 1) return called
  throw new Error(
    called.length > 1
      ? `${wanted} is the name of several: ${called.map(({ name }) => name).join(', ')}. Name one of them whole.`
      : `${wanted}: there is no such document (isola knowledge list).`,
  )
}

export default noun(
  'knowledge',
  {
    add: verb({
      usage: `<file|folder|address> … ${scopeUsage} [--foreign] [--dry-run]`,
      about:
        'Text, Markdown, HTML and PDF: files are yours (mine) unless you say --foreign, addresses are ' +
        'strangers’. What is there as it is, is left; what changed takes its place.',
      options: {
        ...where,
        foreign: flag('others wrote them: text of strangers, as everything from an address is'),
        ...dryRun,
      },
      async run({ args, values, ask, print, stdout, stderr, isJson, fetch: send }) {
        const shared = { ...whereOf(values), dryRun: values['dry-run'] ?? false }
        const done: (
          | Reply<'POST /api/knowledge'>
          | { readonly name: string; readonly error: string }
        )[] = []
        /** A key that may not read the open hosts has none. */
        const openHosts = () =>
          ask('GET /api/operator/http').then(
            ({ hosts }) => hosts,
            () => [],
          )
        const fetched = (url: string) => fetchDocument(url, { send, openHosts })
        for (const { name, isAddress, read } of findDocuments(args, fetched)) {
          const integrity = values.foreign || isAddress ? ('stranger' as const) : ('data' as const)
          try {
            const body = { ...shared, name, integrity, ...(await read()) }
            const answer = await ask('POST /api/knowledge', body)
            done.push(answer)
            if (!isJson)
              stdout.write(
                `${answer.state.padEnd(8)}${shownName(name)} (${answer.document.passages} passages)\n`,
              )
          } catch (error) {
            const message = messageOf(error)
            done.push({ name, error: message })
            stderr.write(`${shownName(name)}: ${shown(message)}\n`)
          }
        }
        const of = (state: string) =>
          done.filter((one) => 'state' in one && one.state === state).length
        const failed = done.filter((one) => 'error' in one).length
        // Each failure has been said; without a document there is no answer.
        if (failed > 0 && failed === done.length) return 1
        const counts = `${of('added')} added, ${of('changed')} changed, ${of('same')} as they were`
        print({ documents: done }, `${counts}${failed > 0 ? `, ${failed} failed` : ''}.`)
        return failed > 0 ? 1 : 0
      },
    }),
    list: verb({
      usage: scopeUsage,
      about: 'Your documents; with --scope deployment, the deployment’s.',
      options: where,
      async run(context) {
        const documents = await allOf(context)
        const text = listed(documents, 'No documents.', {
          id: 'id',
          scope: ({ agent, scope }) => agent ?? scope,
          passages: 'passages',
          whose: ({ label }) => whoseOf(label),
          changed: 'updatedAtMs',
          name: 'name',
        })
        context.print({ documents }, text)
      },
    }),
    show: on('GET /api/knowledge/:document', {
      usage: '<document>',
      about: 'A document with its passages, by its id.',
      options: isDeployment,
      says: described,
    }),
    search: verb({
      usage: `<words> … ${scopeUsage} [--limit <count>]`,
      about: 'The passages that an agent would find.',
      options: {
        ...where,
        limit: text('count', 'how many passages; 5 if absent'),
      },
      async run({ args, values, ask, print }) {
        const { limit = '5' } = values
        const query = { ...whereOf(values), query: args.join(' '), limit }
        const found = await ask('GET /api/knowledge/search', query)
        const passages = found.passages.map(({ cite, text }) => `[${cite}]\n  ${short(text, 300)}`)
        print(found, passages.join('\n\n') || 'Nothing was found.')
      },
    }),
    remove: verb({
      usage: `[<document>] … [--all] ${scopeUsage} [--yes]`,
      about:
        'For good, with all that was made of it; by name, file name or id. A folder: what was added from under it.',
      async asks(context) {
        if (context.args.length === 0) return 'Remove all of them, for good?'
        const names = (await namedBy(context)).map(({ name }) => name)
        return names.length === 1
          ? `Remove ${names[0]}, for good?`
          : `${names.join('\n')}\nRemove these ${names.length}, for good?`
      },
      options: { ...where, all: flag('everything (of the scope)') },
      async run(context) {
        const { args, values, ask, print } = context
        const { all = false } = values
        if (args.length > 0 === all) throw new UsageError('Name documents, or --all.')
        let forgotten = 0
        if (all) ({ forgotten } = await ask('DELETE /api/knowledge', whereOf(values)))
        for (const { id, scope } of all ? [] : await namedBy(context)) {
          const of = scope === 'deployment' ? { scope } : {}
          await ask('DELETE /api/knowledge/:document', of, [id])
          forgotten += 1
        }
        print({ forgotten }, `${forgotten} removed.`)
      },
    }),
  },
  { plural: 'knowledge' },
)
