/** Vue Flow as it comes, with its own nodes, over the same drawing: what the editor's canvas is measured against. */
import '@vue-flow/core/dist/style.css'
import '@vue-flow/core/dist/theme-default.css'
import { VueFlow } from '@vue-flow/core'
import { createApp, h } from 'vue'
import { bigDrawing } from '../kit/bigDrawing.ts'

const { nodes, edges } = bigDrawing()
const far = new URLSearchParams(location.search).get('far') === '1'

createApp(() => h('div', { style: { position: 'fixed', inset: '0' } }, h(VueFlow, {
  nodes: nodes.map(({ id, position }) => ({ id, position, data: {}, label: id })),
  edges: edges.map(({ id, source, target }) => ({ id, source, target })),
  panOnScroll: true,
  minZoom: 0.05,
  defaultViewport: { x: 20, y: 20, zoom: far ? 0.2 : 1 },
}))).mount('#app')
