// isola mcp approve: shows what was seen last, asks, and approves exactly that.
import { verb } from '../command.ts'
import { confirm as agreed } from '../confirm.ts'
import { flag, text, texts } from '../options.ts'
import { short, shown } from '../text.ts'
import { UsageError } from '../usage.ts'
import { viewOf, type Server } from './view.ts'

/** Approves exactly the listing that was shown: without a terminal its hash has to be named. */
export const approve = verb({
  usage:
    '<id> [<item>…] [--yes --hash <hash>] [--confirm <tool>]… [--harmless <tool>]… [--closed <tool>]…',
  about:
    'Shows what was seen last and asks; with --yes it asks nothing, and --hash (12 digits of it or more) says what was seen.\n' +
    'Approves what was seen last, or of it only these; everything that was approved before and is not among them is not any more.\n' +
    "--confirm: this tool's own word that it only reads, may be repeated or reaches no stranger is believed. '*' is all tools.\n" +
    "--harmless: it does not say whether it destroys, and does not: its calls do not ask. '*' is all that say nothing.\n" +
    "--closed: no stranger writes where it reads, and what it is given stays there. '*' is all there is.",
  options: {
    yes: flag(undefined, { short: 'y', to: null }),
    hash: text(),
    confirm: texts(),
    harmless: texts(),
    closed: texts(),
  },
  async run({ args: [id, ...items], values, ask, sent, print, stdin, stderr }) {
    const { hash, yes } = values
    if (hash !== undefined && !/^[0-9a-f]{12,64}$/.test(hash))
      throw new UsageError('--hash: give the first 12 or more of its hex digits.')
    if (yes && hash === undefined)
      throw new UsageError(`--yes needs --hash, as isola mcp show ${id} printed it.`)
    if (!yes && !stdin.isTTY)
      throw new UsageError('Without a terminal to ask on, --yes and --hash are needed.')
    const view = await ask('GET /api/operator/mcp/:server')
    const { hash: seen, items: offered = [] } = view.listing ?? {}
    if (seen === undefined) throw new Error(`It was not looked at yet: isola mcp show ${id}`)
    if (hash !== undefined && !seen.startsWith(hash))
      throw new Error(`It is not ${hash} any more. Look again: isola mcp show ${id}`)
    checkItems(items, offered)
    if (!yes) {
      stderr.write(`${shown(viewOf(view))}\n`)
      if (!(await agreed(wanted(items), { stdin, stderr })))
        throw new Error('Nothing was approved.')
    }
    const done = await ask('POST /api/operator/mcp/:server/approve', {
      confirm: [],
      ...sent(),
      hash: seen,
      items: items.length > 0 ? items : undefined,
    })
    print(done, ['Approved.', ...done.notes].join('\n'))
  },
})

/** As the server would say it, before the question. */
function checkItems(wanted: readonly string[], items: NonNullable<Server['listing']>['items']) {
  for (const name of wanted) {
    const kinds = items.filter(({ key }) => key === name).map(({ kind }) => `${kind}:${name}`)
    if (kinds.length > 1)
      throw new Error(`"${short(name)}" is more than one thing; say which: ${kinds.join(' or ')}.`)
    if (kinds.length === 0 && !items.some(({ kind, key }) => name === `${kind}:${key}`))
      throw new Error(`The server has no "${short(name)}".`)
  }
}

const wanted = (items: readonly string[]) =>
  items.length === 0 ? 'Approve all of this?' : `Approve of it: ${short(items.join(', '), 500)}?`
