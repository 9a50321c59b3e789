/** What a new SKILL.md begins with: the head that the server asks for, with one input and one output declared. */
export const NEW_SKILL = `---
name: my-skill
description: Say in one sentence what this skill does and when to use it.
metadata:
  io-inputs: |
    - name: topic
      description: What it is about
      required: true
  io-outputs: |
    - name: text
      description: The result
---

# My skill

Tell the agent, step by step, how this kind of work is done.
`
