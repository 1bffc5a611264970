import type { Measured } from './cells.ts'
import type { SerialPath } from './path.ts'

/** A far call has a star. */
const stepsOf = ({ steps }: SerialPath): string =>
  steps.map(({ call, isFar }) => `${isFar ? '*' : ''}${call.place} → ${call.name}`).join('; ')

export function print(all: readonly Measured[]): void {
  for (const { name, asked, firstToken, answered, ownMs, calls, ms } of all) {
    console.log(`\n${name}: own work ${ownMs} ms`)
    const line = (what: string, path: SerialPath) =>
      console.log(`  ${what}: ${path.far} far, ${path.distanceMs} ms: ${stepsOf(path)}`)
    line('before the model', asked)
    if (firstToken) line('before the first token', firstToken)
    line('before the answer', answered)
    const beside = calls.filter(({ startMs, awaited }) => startMs < ms.answered && awaited === 'no')
    const shown = beside.map(
      ({ place, name: what, startMs, endMs }) => `${place} → ${what} [${startMs}–${endMs ?? ''}]`,
    )
    if (shown.length > 0) console.log(`  beside: ${shown.join('; ')}`)
  }
  console.log('\nFar round trips in series, and milliseconds, before …')
  console.log('| cell | the model | the first token | the answer |\n|---|---|---|---|')
  for (const { name, asked, firstToken, answered, ms } of all) {
    const first = firstToken ? `${firstToken.far} · ${ms.firstToken}` : ''
    console.log(
      `| ${name} | ${asked.far} · ${ms.asked} | ${first} | ${answered.far} · ${ms.answered} |`,
    )
  }
}
