import type { Metrics } from '../types/operations.ts'

type Labels = Readonly<Record<string, string>>
type Sample = readonly [labels: Labels, value: number]

/** All metrics are gauges of the requested window: they fall when old events leave it. */
export function toExposition({ agents, tools, models }: Metrics): string {
  const states = agents.flatMap(({ agent, states: by }) =>
    Object.entries(by).map(([state, count]): Sample => [{ agent, state }, count]),
  )
  const failures = <T extends { readonly failures: Readonly<Record<string, number>> }>(
    all: readonly T[],
    labelsOf: (one: T) => Labels,
  ) =>
    all.flatMap((one) =>
      Object.entries(one.failures).map(([code, count]): Sample => [
        { ...labelsOf(one), code },
        count,
      ]),
    )
  const modelOf = ({ provider, model }: Metrics['models'][number]) => ({ provider, model })
  const toolOf = ({ tool }: Metrics['tools'][number]) => ({ tool })
  const families: readonly (readonly [name: string, help: string, samples: readonly Sample[]])[] = [
    ['isola_runs', 'Runs that ended, by state.', states],
    [
      'isola_turns_per_run',
      'Turns of a run, mean.',
      agents.flatMap(({ agent, turnsPerRun }): Sample[] =>
        turnsPerRun === undefined ? [] : [[{ agent }, turnsPerRun]],
      ),
    ],
    [
      'isola_tokens',
      'Tokens of model calls that were answered.',
      agents.flatMap(({ agent, inputTokens, outputTokens }): Sample[] => [
        [{ agent, type: 'input' }, inputTokens],
        [{ agent, type: 'output' }, outputTokens],
      ]),
    ],
    [
      'isola_cost_usd',
      'Cost of model calls whose price is known.',
      agents.map(({ agent, costNanoUsd }): Sample => [{ agent }, costNanoUsd / 1e9]),
    ],
    ['isola_tool_calls', 'Tool calls that ended.', tools.map((one) => [toolOf(one), one.calls])],
    ['isola_tool_failures', 'Tool calls that failed, by code.', failures(tools, toolOf)],
    [
      'isola_tool_latency_seconds',
      'Time of a tool call, mean.',
      tools.map((one) => [toolOf(one), one.latencyMs.mean / 1_000]),
    ],
    ['isola_model_calls', 'Model calls answered.', models.map((one) => [modelOf(one), one.calls])],
    ['isola_model_failures', 'Model calls that failed, by code.', failures(models, modelOf)],
    [
      'isola_model_latency_seconds',
      'Time of an answered model call, mean.',
      models.flatMap((one): Sample[] =>
        one.latencyMs ? [[modelOf(one), one.latencyMs.mean / 1_000]] : [],
      ),
    ],
  ]
  return families
    .filter(([, , samples]) => samples.length > 0)
    .map(([name, help, samples]) =>
      [
        `# HELP ${name} ${help}`,
        `# TYPE ${name} gauge`,
        ...samples.map(([labels, value]) => `${name}{${toLabels(labels)}} ${value}`),
        '',
      ].join('\n'),
    )
    .join('')
}

const toLabels = (labels: Labels): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name}="${escaped(value)}"`)
    .join(',')

const escaped = (value: string): string =>
  value.replace(/\\/g, '\\\\').replace(/"/g, '\\"').replace(/\n/g, '\\n')
