/** An agent that takes over the conversation, as its author sends it. */
export const supportBundle = (
  id: string,
  handoff: object = {},
  agent: Record<string, unknown> = {},
) => ({
  manifest: {
    id,
    name: 'Support',
    version: '1.0.0',
    description: `Helps with orders, for ${id}.`,
    agent: {
      integration_mode: 'handoff',
      model: `openai/${id}`,
      instructions: 'p.md',
      uses_tools: ['kv'],
      handoff,
      ...agent,
    },
  },
  files: { 'p.md': `You are the support desk ${id}. ${'Be kind and brief. '.repeat(12)}` },
})
