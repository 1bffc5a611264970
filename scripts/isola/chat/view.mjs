// What a conversation looks like: answers on the standard output, all else on the error output.
import { dollars, short, shown } from '../text.mjs'

/** What came of a call, in a line. */
function outcome({ ok, output, error, code, durationMs }) {
  return ok
    ? `✓ ${durationMs} ms  ${short(output, 120)}`
    : `✗ ${code ?? 'failed'}  ${short(error?.message ?? error ?? '', 120)}`
}

/** The line that an event is worth, or undefined. */
export function lineOf({ type, data }) {
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
        : `! ${data.state}: ${short(data.message ?? data.code ?? '')}`
    default:
      return undefined
  }
}

/**
 * Shows a run's items as they come.
 *
 * Pieces of a message are not stored: after a broken connection what was shown already is not shown again, and what was
 * missed comes with the finished message.
 */
export function createView({ stdout, stderr, isJson }) {
  let said = ''
  let isLineOpen = false
  const write = (text) => {
    if (text === '') return
    stdout.write(shown(text))
    isLineOpen = !text.endsWith('\n')
  }
  const endLine = () => isLineOpen && write('\n')
  const note = (text, indent = '') => {
    endLine()
    stderr.write(`${indent}${shown(text)}\n`)
  }

  /** Makes what is on the screen the beginning of `text`; says it anew if it is not. */
  const sayUpTo = (text) => {
    if (said.startsWith(text)) return
    if (!text.startsWith(said)) endLine()
    write(text.startsWith(said) ? text.slice(said.length) : text)
    said = text
  }

  const show = (item) => {
    if (isJson) {
      if (item.seq !== undefined) stdout.write(`${JSON.stringify(item)}\n`)
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
  }
  /** An event of a sub-agent: its calls, further in. */
  const showBelow = (item, depth) => {
    if (isJson || !/^(tool|agent)_/.test(item.type)) return
    const line = lineOf(item)
    if (line !== undefined) note(line, '    '.repeat(depth))
  }
  return { show, showBelow, note }
}
