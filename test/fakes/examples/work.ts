import type { Answer } from '../client.ts'
import { call, type Play } from './conversation.ts'

const batch = 25
const clean = (row: string) =>
  row
    .split(',')
    .map((field) => field.trim().replace(/\s+/g, ' '))
    .map((field) => (field.includes('@') ? field.toLowerCase() : field))
    .join(',')

const endOf = (path: string) => Number(/-(\d+)\.csv$/.exec(path)![1])

/** Does as its prompt says: looks where it is, then a batch, the checkpoint, a batch. */
export const dataCleanup: Play = ({ said, done }) => {
  const lines = said.find((text) => text.includes('name,email'))!.split('\n')
  const [names = '', ...rows] = lines.slice(lines.findIndex((line) => line.startsWith('name,')))
  const [checkpoint, there] = done
  if (!checkpoint) return call('kv__get', { key: 'cleanup' })
  if (!there) return call('files__list', { prefix: 'cleaned/' })
  const last = done.at(-1)!
  if (last.name === 'files__write') {
    const next = endOf(last.input.path) + 1
    return call('kv__set', { key: 'cleanup', value: { next, rows: rows.length, doubtful: [] } })
  }
  const noted = last.name === 'kv__set' ? last.input.value.next : checkpoint.output.value?.next
  const next = Math.max(noted ?? 1, ...there.output.paths.map((path: string) => endOf(path) + 1))
  if (next > rows.length) return { text: `${rows.length} rows are clean.` }
  const end = Math.min(next + batch - 1, rows.length)
  const text = [names, ...rows.slice(next - 1, end).map(clean)].join('\n')
  return call('files__write', { path: `cleaned/${next}-${end}.csv`, text })
}

/** Three steps in their order; a step that fails is told, and the rest goes on. */
export const workflow: Play = ({ said, done }) => {
  const [topic] = said
  const [facts, draft, check] = done
  const wasSaid = (step: typeof facts) => String(step?.output.result ?? step?.output)
  if (!facts) return call('briefing-facts__run', { task: topic! })
  if (!draft)
    return call('briefing-draft__run', { task: `${topic}, 200 words`, context: wasSaid(facts) })
  if (!check) {
    const context = `Facts: ${wasSaid(facts)}\nDraft: ${wasSaid(draft)}`
    return call('briefing-check__run', { task: 'Check the draft.', context })
  }
  const isFailed = /model_|failed/.test(JSON.stringify(check.output))
  const head = isFailed ? 'Nobody checked this.\n' : ''
  return {
    text: `${head}${wasSaid(draft)}\nfacts: done, draft: done, check: ${isFailed ? 'failed' : 'done'}`,
  }
}

export const briefingFacts: Play = ({ said, done }) => {
  const [found] = done
  if (!found) return call('knowledge__search', { query: said[0]! })
  const facts = found.output.passages.map((one: Answer) => `- ${one.text} [${one.cite}]`)
  return { text: facts.join('\n') || 'No document says anything of this.' }
}
export const briefingDraft: Play = ({ said }) => ({ text: `Briefing: ${said.join(' ')}` })

/** By the rules of its prompt, in the order of how bad things are. */
const severityOf = (alert: string) => {
  if (/every customer|data is lost/.test(alert)) return 'sev1'
  if (/9\d %/.test(alert)) return 'sev2'
  return /mailed .* late/.test(alert) ? 'sev4' : 'sev3'
}
/** @param obeys Whether it takes an order that stands in the alert. */
export const incidentTriage =
  (obeys: boolean): Play =>
  ({ said, done }) => {
    const alert = said[0]!
    const [found] = done
    if (!found) return call('knowledge__search', { query: alert })
    const order = /answer (sev\d)/.exec(alert)?.[1]
    const [runbook] = found.output.passages
    return {
      text: JSON.stringify({
        severity: obeys && order ? order : severityOf(alert),
        why: `The alert says: ${alert.slice(0, 200)}`,
        ...(runbook && { runbook: runbook.cite }),
        first_steps: [runbook?.text.slice(0, 200) ?? 'Look at the last change.'],
      }),
    }
  }

/** Gives the alerts of its prompt, word for word, and compares. */
export const incidentDrill: Play = ({ prompt, done }) => {
  const alerts = [...prompt.matchAll(/`(DRILL\..+?)` Expected: (.+?)\.$/gm)]
  const next = alerts[done.length]
  if (next) return call('incident-triage__run', { task: next[1] })
  const wrong = alerts.flatMap(([, , expected = ''], index) => {
    const answered = /sev\d(?=\\?")/.exec(JSON.stringify(done[index]!.output))?.[0] ?? 'nothing'
    return expected.includes(answered) ? [] : [index + 1]
  })
  return { text: wrong.length > 0 ? `Drill FAILED: ${wrong.join(', ')}` : 'Drill passed.' }
}
