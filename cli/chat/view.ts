// Shows a conversation: answers on the standard output, all else on the error output.

import picocolors from 'picocolors'
import { hasColour } from '../../scripts/style.mjs'
import type { Env, Output, Context } from '../command.ts'
import type { StreamItem } from '../../src/client/client.ts'
import type { ToldData } from '../../src/contracts/event.ts'
import { dollars, jsonText, short, shown, shownPiece } from '../text.ts'

/**
 * Functions that colour text for one stream: `dim`, `yellow`, `cyan` and others. Without colour they return the text as
 * it is. Text of others goes through `shown` first: afterwards it would lose the colour.
 */
export const createStyle = (stream: Pick<Output, 'isTTY'>, env: Env) =>
  picocolors.createColors(hasColour(stream, env))

/** The outcome of a call, in a line. */
function outcome({ ok, output, error, code, durationMs }: ToldData<'tool_finished'>) {
  return ok
    ? `✓ ${durationMs} ms  ${short(output, 120)}`
    : `✗ ${code ?? 'failed'}  ${short(error?.message ?? error ?? '', 120)}`
}

/** The line that an event is worth, or undefined. */
function lineOf(item: StreamItem): string | undefined {
  // Each kind has its own data: they are told apart together.
  if (!('data' in item)) return undefined
  const { type, data } = item
  switch (type) {
    case 'tool_started':
      return `· ${data.tool} ${short(data.input, 120)}`
    case 'tool_finished':
      return `  ${data.tool} ${outcome(data)}`
    case 'tool_progress':
    case 'tool_log':
      return data.message === undefined ? undefined : `  ${short(data.message)}`
    case 'agent_invoked':
      return `· agent ${data.agent} begins (${data.session})`
    case 'agent_result':
      return `  agent ${data.agent} ${data.state}${data.costEstimateUsd ? `, ${dollars(data.costEstimateUsd)}` : ''}`
    case 'agent_error':
      return `  agent ${data.agent} ✗ ${data.code}  ${short(data.message)}`
    case 'model_failed':
      return `! ${data.provider}/${data.model} failed: ${data.code}`
    case 'model_substituted':
      return `! ${data.provider}/${data.model} answers instead of ${data.asked}`
    case 'run_resumed':
      // Also after a pause, where nothing was lost.
      return data.lostCalls > 0 ? '! the run goes on after an interruption' : undefined
    case 'run_finished':
      return data.state === 'completed'
        ? undefined
        : `! ${data.state}: ${short(data.message ?? data.code ?? '', 2_000)}`
    default:
      return undefined
  }
}

/** The bill of a run: the models that answered, tokens, cost, time. `hasUnpriced`: a model of it has no known price. */
function billOf({ result }: ToldData<'run_finished'>, hasUnpriced = false) {
  if (!result?.usage) return undefined
  const { modelCalls, usage, costEstimateUsd, startedAtMs, finishedAtMs } = result
  const models = [...new Set(modelCalls.map(({ provider, model }) => `${provider}/${model}`))]
  return [
    models.join(', '),
    `${usage.tokens.toLocaleString('en-US')} tokens`,
    hasUnpriced ? `${dollars(costEstimateUsd)} + unknown prices` : dollars(costEstimateUsd),
    `${((finishedAtMs - startedAtMs) / 1_000).toFixed(1)} s`,
  ]
    .filter(Boolean)
    .join(' · ')
}

/** Warnings and questions stand out; what tools do stays behind the answer. */
function colourOf(text: string, style: ReturnType<typeof createStyle>) {
  if (text.startsWith('! ')) return style.yellow
  if (text.startsWith('? ')) return style.cyan
  return /^( {2}|· )/.test(text) ? style.dim : (plain: string) => plain
}

const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const frameMs = 120

/**
 * A sign that a run works, on a line of its own that leaves no trace; none without a terminal.
 * @param isQuiet Whether the line is in use: a person types, or an answer is unfinished.
 */
function createWaitingSign(stderr: Output, isShown: boolean, isQuiet: () => boolean) {
  let timer: NodeJS.Timeout | undefined
  let isDrawn = false
  const wipe = () => {
    if (isDrawn) stderr.write('\r\u001b[K')
    isDrawn = false
  }
  const start = () => {
    if (!isShown || timer) return
    const sinceMs = performance.now()
    let turn = 0
    timer = setInterval(() => {
      if (isQuiet()) return
      const seconds = Math.floor((performance.now() - sinceMs) / 1_000)
      stderr.write(`\r${frames[turn++ % frames.length]} ${seconds} s\u001b[K`)
      isDrawn = true
    }, frameMs)
    timer.unref()
  }
  const stop = () => {
    clearInterval(timer)
    timer = undefined
    wipe()
  }
  return { start, stop, wipe }
}

interface Screen extends Pick<Context, 'stdout' | 'stderr' | 'isJson' | 'env'> {
  /** Whether a person is typing. */
  readonly isTyping: () => boolean
}
export type View = ReturnType<typeof createView>

/**
 * Shows a run's items as they come.
 *
 * Pieces of a message are not stored: after a broken connection what was shown already is not shown again, and what was
 * missed comes with the finished message.
 */
export function createView({ stdout, stderr, isJson, env, isTyping }: Screen) {
  const style = createStyle(stderr, env)
  let said = ''
  let isLineOpen = false
  let hasUnpriced = false
  const hasSign = stderr.isTTY === true && env.TERM !== 'dumb' && !isJson
  const waiting = createWaitingSign(stderr, hasSign, () => isLineOpen || isTyping())
  const write = (text: string) => {
    if (text === '') return
    waiting.wipe()
    stdout.write(shownPiece(text))
    isLineOpen = !text.endsWith('\n')
  }
  const endLine = () => isLineOpen && write('\n')
  const note = (text: string, indent = '') => {
    endLine()
    waiting.wipe()
    stderr.write(`${indent}${colourOf(text, style)(shown(text))}\n`)
  }

  /** Makes what is on the screen the beginning of `text`; says it anew if it is not. */
  const sayUpTo = (text: string) => {
    if (said.startsWith(text)) return
    if (!text.startsWith(said)) endLine()
    write(text.startsWith(said) ? text.slice(said.length) : text)
    said = text
  }

  const show = (item: StreamItem) => {
    if (isJson) {
      if ('seq' in item) stdout.write(`${jsonText(item)}\n`)
      return
    }
    if (item.type === 'message_delta') {
      // A piece after one that was missed waits for the whole message.
      if (item.offset <= said.length) sayUpTo(said.slice(0, item.offset) + item.text)
      return
    }
    if (item.type === 'message_finished') {
      sayUpTo(item.data.text)
      said = ''
      endLine()
      return
    }
    if (item.type === 'model_failed') said = ''
    const line = lineOf(item)
    if (line !== undefined) note(line)
    if (item.type === 'model_called') hasUnpriced ||= item.data.priced === false
    if (item.type !== 'run_finished') return
    const bill = billOf(item.data, hasUnpriced)
    if (bill !== undefined) note(`  ${bill}`)
    hasUnpriced = false
  }
  /** An event of a sub-agent: its calls, further in. */
  const showBelow = (item: StreamItem, depth: number) => {
    if (isJson || !/^(tool|agent)_/.test(item.type)) return
    const line = lineOf(item)
    if (line !== undefined) note(line, '    '.repeat(depth))
  }
  return { show, showBelow, note, wait: waiting.start, rest: waiting.stop }
}
