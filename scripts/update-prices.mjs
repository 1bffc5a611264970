// npm run prices: writes src/platform/models/price-data.ts from litellm's list of prices.
//   npm run prices -- <file or URL> --commit <sha> (--date <YYYY-MM-DD> | --read-on <YYYY-MM-DD>)
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { tiersOver, usualKey, withoutDate } from '../src/platform/models/prices.ts'
import { root, runNode } from './toolchain.mjs'

const repository = 'BerriAI/litellm'
const path = 'model_prices_and_context_window.json'

/** Vendors whose servers speak OpenAI's chat completions. */
const vendors = [
  'anthropic',
  'cloudflare',
  'dashscope',
  'deepseek',
  'gemini',
  'groq',
  'mistral',
  'moonshot',
  'openai',
  'openrouter',
  'perplexity',
  'xai',
  'zai',
]

const isPrice = (value) => Number.isFinite(value) && value >= 0
/** Dollars per token, as dollars per million, without the noise of binary fractions. */
const perMillion = (usdPerToken) => Number((usdPerToken * 1e6).toPrecision(12))
const tokens = (value) => (Number.isSafeInteger(value) && value > 0 ? value : null)

/** The prices of a model above so many input tokens: `[[inputTokens, input, output], …]`, ascending. */
function tiersOf(entry, [input, output]) {
  const thousands = Object.keys(entry).flatMap(
    (name) => /^(?:input|output)_cost_per_token_above_(\d+)k_tokens$/.exec(name)?.[1] ?? [],
  )
  let [mostInput, mostOutput] = [input, output]
  return [...new Set(thousands.map(Number))]
    .toSorted((a, b) => a - b)
    .map((thousand) => {
      const dearer = (kind, before) => {
        const price = entry[`${kind}_cost_per_token_above_${thousand}k_tokens`]
        return isPrice(price) ? Math.max(before, perMillion(price)) : before
      }
      mostInput = dearer('input', mostInput)
      mostOutput = dearer('output', mostOutput)
      return [thousand * 1_000, mostInput, mostOutput]
    })
}

/** One model of the list as `[<vendor>/<name>, row]`, or undefined if it is none that we can price. */
function toRow([key, entry]) {
  const { litellm_provider: vendor, mode, tiered_pricing: otherTiers } = entry ?? {}
  if (!vendors.includes(vendor) || !['chat', 'responses'].includes(mode)) return undefined
  const name = key.startsWith(`${vendor}/`) ? key.slice(vendor.length + 1) : key
  // Regions, speeds and fine-tuned models have prefixes of their own; these vendors' names have none.
  if (name.includes(':') || (name.includes('/') && !hasPaths.includes(vendor))) return undefined
  // A price in a form that a row does not hold is no price.
  if (otherTiers !== undefined) return undefined
  if (!isPrice(entry.input_cost_per_token) || !isPrice(entry.output_cost_per_token))
    return undefined
  const reasoning = entry.output_cost_per_reasoning_token
  const prices = [
    perMillion(entry.input_cost_per_token),
    // Reasoning is output too: where it is dearer, all of it is counted so.
    perMillion(Math.max(entry.output_cost_per_token, isPrice(reasoning) ? reasoning : 0)),
  ]
  const window = [tokens(entry.max_input_tokens), tokens(entry.max_output_tokens)]
  return [`${vendor}/${name}`, [...prices, ...window, key, ...tiersOf(entry, prices)]]
}
const hasPaths = ['cloudflare', 'groq', 'openrouter']

/**
 * Joins two rows of one name by the dearest of each price, for long inputs too, so that a reservation covers the
 * bill.
 */
function dearer(one, other = one) {
  const most = ([input, output, , , , ...above]) => {
    const [, topInput, topOutput] = above.at(-1) ?? [0, input, output]
    return topInput + topOutput
  }
  const [, , ...rest] = (most(one) >= most(other) ? one : other).slice(0, 5)
  return [
    Math.max(one[0], other[0]),
    Math.max(one[1], other[1]),
    ...rest,
    ...tiersOver([one, other]),
  ]
}

/**
 * The rows of the price file by `<vendor>/<name>`, sorted. A version with a date also stands for its name without one,
 * if that is not there; `-latest` is the same model as the name without it.
 */
export function rowsOf(list) {
  const exact = new Map()
  const undated = new Map()
  for (const [name, row] of Object.entries(list).flatMap((entry) => [toRow(entry) ?? []])) {
    if (!name) continue
    const short = withoutDate(name)
    exact.set(name, dearer(row, exact.get(name)))
    if (name.endsWith('-latest')) exact.set(short, dearer(row, exact.get(short)))
    else if (short !== name) undated.set(short, dearer(row, undated.get(short)))
  }
  return Object.fromEntries(
    [...new Map([...undated, ...exact])].toSorted(([a], [b]) => (a < b ? -1 : 1)),
  )
}

/** The text of src/platform/models/price-data.ts. */
export function toSource(rows, { commit, date }) {
  const lines = Object.entries(rows).map(([name, row]) => {
    const short = row.with(4, row[4] === usualKey(name) ? null : row[4])
    return `    ${JSON.stringify(name)}: ${JSON.stringify(short)},`
  })
  return `// Written by \`npm run prices\` from ${path} of github.com/${repository}
// (MIT License, Copyright (c) 2023 Berri AI), commit ${commit}, ${date}: do not edit.
// Discounts for batches and cached input are left out, so a real bill is at most this.
import type { PriceFile } from './prices.ts'

export const priceFile: PriceFile = {
  repository: ${JSON.stringify(repository)},
  path: ${JSON.stringify(path)},
  commit: ${JSON.stringify(commit)},
  date: ${JSON.stringify(date)},
  models: {
${lines.join('\n')}
  },
}
`
}

async function load(from) {
  if (!from.startsWith('https://')) return JSON.parse(readFileSync(from, 'utf8'))
  const response = await fetch(from, { signal: AbortSignal.timeout(60_000) })
  if (!response.ok) throw new Error(`${from} answers ${response.status}.`)
  return response.json()
}

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      commit: { type: 'string' },
      date: { type: 'string' },
      'read-on': { type: 'string' },
    },
  })
  const { commit = '', date, 'read-on': readOn } = values
  const isDay = (text = '') => /^\d{4}-\d{2}-\d{2}$/.test(text)
  if (positionals.length !== 1 || !/^[0-9a-f]{40}$/.test(commit) || !isDay(date ?? readOn))
    throw new Error(
      'npm run prices -- <file or https URL of the list> --commit <40 hex digits> --date <day of the ' +
        'commit>, or --read-on <day> if that is not known; days are YYYY-MM-DD.',
    )
  const rows = rowsOf(await load(positionals[0]))
  const count = Object.keys(rows).length
  if (count === 0) throw new Error('The list has no model that we can price: nothing was written.')
  const file = join(root, 'src', 'platform', 'models', 'price-data.ts')
  writeFileSync(file, toSource(rows, { commit, date: date ? `of ${date}` : `read on ${readOn}` }))
  const { code, output } = await runNode(
    [join(root, 'node_modules', 'oxfmt', 'bin', 'oxfmt'), file],
    { capture: true },
  )
  if (code !== 0) throw new Error(output.trim())
  console.log(`${count} prices written to src/platform/models/price-data.ts.`)
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  main().catch((error) => {
    console.error(error.message)
    process.exitCode = 1
  })
}
