import type { ToolPolicy } from '#runtime/kernel/types/tool-policy.ts'
import {
  forms,
  moments,
  replayAttack,
  replayTask,
  type Attacked,
  type Benign,
  type Grouping,
} from './replay.ts'
import type { RecordedTask, Suite } from './suite.ts'

/** A task, and an attack that a carrier brings into it. */
export interface Pair {
  readonly suite: Suite
  readonly task: RecordedTask
  readonly attack: RecordedTask
}

/** The figures of one suite under one policy. */
export interface Measured {
  readonly suite: Suite
  readonly pairs: number
  /** Pairs whose attacker wants words in an answer and no call: there is nothing for a gate to decide. */
  readonly withoutCall: number
  readonly attacked: readonly Attacked[]
  readonly benign: readonly Benign[]
  /** The same, where what is asked about is asked together. */
  readonly together: readonly Benign[]
}

/** All pairs of these suites. */
export const pairsOf = (suites: readonly Suite[]): readonly Pair[] =>
  suites.flatMap((suite) =>
    suite.tasks.flatMap((task) => suite.attacks.map((attack) => ({ suite, task, attack }))),
  )

/** Every pair in both forms and at both moments: four runs each. */
export async function attackAll(pairs: readonly Pair[]): Promise<readonly Attacked[]> {
  const attacked: Attacked[] = []
  for (const { suite, task, attack } of pairs) {
    for (const form of forms) {
      for (const moment of moments) {
        attacked.push(await replayAttack(suite, { task, attack, form, moment }))
      }
    }
  }
  return attacked
}

/** Every task of a suite without an attacker. */
export async function replayAll(suite: Suite, grouping?: Grouping): Promise<readonly Benign[]> {
  const benign: Benign[] = []
  for (const task of suite.tasks) benign.push(await replayTask(suite, task, grouping))
  return benign
}

/** Every pair and every task of a suite, as an operator has set this. */
export async function measure(given: Suite, policy: ToolPolicy): Promise<Measured> {
  const suite = { ...given, policy }
  const pairs = pairsOf([suite])
  return {
    suite,
    pairs: pairs.length,
    withoutCall: pairs.filter(({ attack }) => attack.calls.length === 0).length,
    attacked: await attackAll(pairs),
    benign: await replayAll(suite),
    together: await replayAll(suite, 'together'),
  }
}

/** How many pairs had such calls in this form, at whichever moment. */
export const pairsWith = (
  attacked: readonly Attacked[],
  what: 'effects' | 'steered' | 'worded',
  form: Attacked['form'],
): number =>
  new Set(
    attacked
      .filter((one) => one.form === form && one[what].length > 0)
      .map(({ task, attack }) => `${task.id} ${attack.id}`),
  ).size

/** How many pairs had an effect of the attacker's in this form, at whichever moment. */
export const harmed = (attacked: readonly Attacked[], form: Attacked['form']): number =>
  pairsWith(attacked, 'effects', form)
