//! What can go wrong between particles and pictures.

/// Failure of a reconstruction, a picture or a video.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RenderError {
    /// A length, volume or box that is not finite and positive.
    #[error("{what} must be finite and positive, got {value}")]
    BadLength {
        /// The argument that was refused.
        what: &'static str,
        /// The value it had.
        value: f64,
    },
    /// A domain whose lattice would not fit any sensible memory.
    #[error("the lattice would have {nodes:.3e} nodes, more than the {limit:.3e} allowed")]
    TooFine {
        /// Nodes asked for.
        nodes: f64,
        /// Most nodes allowed.
        limit: f64,
    },
    /// A picture size outside 2 to 8192 pixels a side.
    #[error("picture size {width}x{height} is outside 2 to {limit} pixels a side")]
    BadSize {
        /// Width asked for, in pixels.
        width: usize,
        /// Height asked for, in pixels.
        height: usize,
        /// Longest side allowed.
        limit: usize,
    },
    /// Arrays that should describe the same things have different lengths.
    #[error("{what}: expected {expected} entries, found {found}")]
    Mismatch {
        /// Which array.
        what: &'static str,
        /// Length it should have.
        expected: usize,
        /// Length it has.
        found: usize,
    },
    /// The PNG encoder refused.
    #[error("PNG encoding failed")]
    Png(#[from] png::EncodingError),
    /// The H.264 encoder refused.
    #[error("H.264 encoding failed: {0}")]
    H264(String),
    /// The MP4 container could not be written.
    #[error("MP4 muxing failed: {0}")]
    Mp4(String),
    /// A video with no frames has no file.
    #[error("a video needs at least one frame")]
    EmptyVideo,
    /// The caller's writer failed.
    #[error("writing failed")]
    Io(#[from] std::io::Error),
}

/// Refuse anything but a finite positive number.
pub(crate) fn positive(what: &'static str, value: f64) -> Result<f64, RenderError> {
    if value.is_finite() && value > 0.0 {
        Ok(value)
    } else {
        Err(RenderError::BadLength { what, value })
    }
}
