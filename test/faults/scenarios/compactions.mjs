// A conversation that outgrows its model, which takes 16,000 tokens (lib/server.mjs): its compactions are struck like everything else.
import { calls } from './basic.mjs'

const { once, repeatable } = calls
const expects = ['context_compacted']

/** Filler text of about so many tokens. */
const filling = (words) => Array.from({ length: words }, (_, at) => `word ${at % 97}`).join(' ')
const look = (trial, name, chars) => [
  'effects__look',
  { url: trial.effect('look', name, 5), chars },
]

/** One run after the other: what comes later finds all of it. */
async function sayAll(trial, plans) {
  for (const [at, plan] of plans.entries())
    await trial.ended(await trial.submit(`said ${at}`, plan))
}

const work = (trial) => ({
  delayMs: 10,
  turns: [[once(trial, 'o')], [repeatable(trial, 'i')]],
})

export const scenarios = [
  {
    name: 'summed-up',
    expects,
    async story(trial) {
      await trial.create()
      const text = filling(1_500)
      await sayAll(trial, [{ text }, { text }, { text }, { text: 'ok', filling: text }])
      await trial.submit('work', work(trial))
    },
  },
  {
    name: 'results-cleared',
    expects,
    async story(trial) {
      await trial.create()
      const looks = Array.from({ length: 6 }, (_, at) => ({
        turns: [[look(trial, `r${at}`, 8_500)]],
      }))
      await sayAll(trial, looks)
      await trial.submit('work', { ...work(trial), filling: filling(350) })
    },
  },
  {
    name: 'compacted-on-request',
    expects,
    /** With the model that the last run named, which the key may still name. */
    async story(trial) {
      await trial.signIn()
      await trial.create()
      const text = filling(1_000)
      const model = 'openai/scripted'
      for (const at of [1, 2, 3])
        await trial.ended(await trial.submit(`said ${at}`, { text }, { model }))
      await trial.compact()
      await trial.submit('work', work(trial), { model })
    },
  },
  {
    name: 'chosen-by-plugin',
    expects,
    async story(trial) {
      await trial.create()
      const text = `CHOOSE ${filling(1_500)}`
      await sayAll(trial, [{ text }, { text }, { text }, { text: 'ok', filling: text }])
      await trial.submit('work', work(trial))
    },
  },
  {
    name: 'much-at-once',
    expects,
    async story(trial) {
      await trial.create()
      const many = Array.from({ length: 4 }, (_, at) => look(trial, `r${at}`, 20_000))
      await trial.submit('work', { delayMs: 10, turns: [many, [once(trial, 'o')]] })
    },
  },
  {
    name: 'refused-as-too-long',
    expects,
    async story(trial) {
      await trial.create()
      const text = filling(1_000)
      await sayAll(trial, [{ text }, { text }, { text }])
      await trial.submit('work', { ...work(trial), maxChars: 20_000 })
    },
  },
]
