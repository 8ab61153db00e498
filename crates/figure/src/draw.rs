//! Pictures: ECharts in an embedded JavaScript engine makes SVG, resvg makes
//! PNG of that, with a font of our own, so that pictures are the same everywhere.

use std::ops::RangeInclusive;
use std::sync::{Arc, LazyLock};

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};
use rquickjs::{CatchResultExt, Context, Function, Object, Runtime};

use crate::assets::{SCRIPT, echarts, font};
use crate::{Figure, FigureError, option};

/// What a browser has and the engine lacks. Nothing waits for a timer here:
/// animations are off.
const SURROUNDINGS: &str = "globalThis.self = globalThis; \
     globalThis.setTimeout = globalThis.setInterval = () => 0; \
     globalThis.clearTimeout = globalThis.clearInterval = () => {};";

/// Width and height of a picture, pixels.
const PIXELS: RangeInclusive<u32> = 100..=8192;

thread_local! {
    /// Loading the library takes a tenth of a second, a figure a fraction of it.
    static ENGINE: Result<(Runtime, Context), String> = engine();
}

fn engine() -> Result<(Runtime, Context), String> {
    let runtime = Runtime::new().map_err(|error| error.to_string())?;
    let context = Context::full(&runtime).map_err(|error| error.to_string())?;
    context.with(|js| {
        for script in [SURROUNDINGS, echarts(), SCRIPT] {
            js.eval::<(), _>(script).catch(&js).map_err(|error| error.to_string())?;
        }
        Ok::<(), String>(())
    })?;
    Ok((runtime, context))
}

/// The figure as an SVG document of a size in pixels, drawn as on a picture smaller by `scale`
/// and enlarged: text, lines and all.
///
/// # Errors
/// The size is not one of a picture, or the library failed.
pub fn svg(
    figure: &Figure,
    (width, height): (u32, u32),
    scale: f64,
    dark: bool,
) -> Result<String, FigureError> {
    if !PIXELS.contains(&width) || !PIXELS.contains(&height) {
        return Err(FigureError::Size { least: *PIXELS.start(), most: *PIXELS.end() });
    }
    let option = option(figure, dark).to_string();
    let drawn = ENGINE.with(|engine| {
        let (_, context) = engine.as_ref().map_err(Clone::clone)?;
        context.with(|js| {
            let draw = || {
                let iodyno: Object<'_> = js.globals().get("iodyno")?;
                let option = js.json_parse(option)?;
                iodyno.get::<_, Function<'_>>("svg")?.call((option, width, height, scale))
            };
            draw().catch(&js).map_err(|error| error.to_string())
        })
    });
    drawn.map_err(FigureError::Drawing)
}

/// The figure as a PNG picture of a size in pixels.
///
/// # Errors
/// As [`svg`], or the picture is too large for the memory.
pub fn png(
    figure: &Figure,
    (width, height): (u32, u32),
    scale: f64,
    dark: bool,
) -> Result<Vec<u8>, FigureError> {
    static FONTS: LazyLock<Arc<fontdb::Database>> = LazyLock::new(|| {
        let mut fonts = fontdb::Database::new();
        fonts.load_font_data(font());
        fonts.set_sans_serif_family("DejaVu Sans");
        Arc::new(fonts)
    });
    let failed = |error: &dyn std::fmt::Display| FigureError::Drawing(error.to_string());
    let document = svg(figure, (width, height), scale, dark)?;
    let options = Options { fontdb: Arc::clone(&FONTS), ..Options::default() };
    let tree = Tree::from_str(&document, &options).map_err(|error| failed(&error))?;
    let mut picture =
        Pixmap::new(width, height).ok_or_else(|| failed(&"no memory for the picture"))?;
    resvg::render(&tree, Transform::identity(), &mut picture.as_mut());
    picture.encode_png().map_err(|error| failed(&error))
}
