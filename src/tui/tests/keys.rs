//! The person's own keys.

use super::*;
use crate::tui::keys::Keymap;

#[test]
fn the_persons_keys_count_and_the_usual_ones_no_more() {
    let mut h = Harness::ready(80, 60);
    let file = "[chat]\ncopy = \"f5\"\nmemory = \"alt+m\"\nhelp_in_empty_input = [\"ctrl+x\", \"#\"]\n\
                [message]\nforget = [\"x\", \"delete\"]\n[list]\nclose = \"f9\"";
    let (keys, wrong) = Keymap::parse(file, "keys.toml");
    assert_eq!(wrong, Vec::<String>::new());
    h.state.keys = keys;
    assert!(h.screen().contains("Ctrl+X help · / commands · Alt+m memory"), "{}", h.screen());
    h.exchange(1, "How?", "So.", json!({}));
    h.take();
    h.press("f5");
    assert_eq!(h.take(), [Effect::Copy("So.".into())]);
    h.press("ctrl-y");
    assert_eq!(h.take(), []);
    h.tick(40);
    // The key bar, and the help.
    assert!(h.screen().contains("Ctrl+X help"), "{}", h.screen());
    h.press("#");
    let help = h.screen();
    assert!(help.contains("F5 ") && help.contains("F1 Ctrl+X"), "{help}");
    assert!(!help.contains("Ctrl+Y") && !help.contains("Ctrl+T"), "{help}");
    h.keys("esc up");
    assert!(h.screen().contains("x forget"), "{}", h.screen());
    h.press("f");
    assert_eq!(h.take(), []);
    h.press("x");
    assert!(matches!(h.take()[..], [Effect::Store(StoreRequest::PlanForget { .. })]));
    // What types nothing any more is typed again.
    h.keys("esc ?");
    assert_eq!(h.state.editor.shown(), "?");
    h.keys("ctrl-p esc");
    assert!(h.state.overlay.is_some());
    h.press("f9");
    assert!(h.state.overlay.is_none());
}
